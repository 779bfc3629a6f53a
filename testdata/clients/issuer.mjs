// A real OpenID provider (oidc-provider) that issues JWT access tokens for resource
// servers, to clients by their credentials.
// Usage: node issuer.mjs PORT; a line "rotate" of input changes its key, "past" sets
// its clock back by an hour. It prints a line when it listens, and one after each.
import * as oidc from 'oidc-provider';
import { createServer } from 'node:http';
import { generateKeyPairSync } from 'node:crypto';
import { createInterface } from 'node:readline';

const Provider = oidc.Provider ?? oidc.default;
const port = process.argv[2];
const issuer = `http://127.0.0.1:${port}`;
const key = kid => ({ ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' });

function provider(generation) {
  return new Provider(issuer, {
    jwks: { keys: [key(`key-${generation}`)] },
    clients: ['alice', 'bob', 'mallory'].map(client_id => ({
      client_id, client_secret: `${client_id}-secret`, grant_types: ['client_credentials'], redirect_uris: [], response_types: [],
      token_endpoint_auth_method: 'client_secret_post',
    })),
    scopes: ['exec:run', 'exec:read'],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (ctx, resource) => ({ scope: 'exec:run exec:read', audience: resource, accessTokenTTL: 300,
          accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }),
      },
    },
  });
}

let generation = 1, callback = provider(generation).callback();
createServer((req, res) => callback(req, res)).listen(port, '127.0.0.1', () => console.log('listening'));
const now = Date.now;
createInterface({ input: process.stdin }).on('line', what => {
  if (what === 'past') Date.now = () => now() - 3600e3;
  else callback = provider(++generation).callback();
  console.log(what);
}).on('close', () => process.exit(0));
