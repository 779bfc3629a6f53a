// Every outcome of a call, through the official clients over stdio: SDK v1, and
// SDK v2 in the old era and negotiating the new one.
// Usage: node outcomes.mjs HANDRAIL DIRECTORY
import { Client as V2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as V1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const [binary, scratch] = process.argv.slice(2);
const root = join(scratch, 'project');
const outside = join(scratch, 'outside'); // beside the workspace: writing there asks
mkdirSync(root, { recursive: true });
mkdirSync(outside, { recursive: true });

const never = new Promise(() => {});
const pause = ms => new Promise(ok => setTimeout(() => ok('silence'), ms));
const choose = decision => ({ action: 'accept', content: { decision } });

let reply, asked; // what the next questions are answered with; how many came
const answer = async request => {
  asked++;
  const field = request.params.requestedSchema?.properties?.decision;
  if (!field || field.default !== undefined || !field.enum?.includes('deny')) throw new Error('not the form that was agreed');
  return reply === 'silent' ? never : reply;
};

async function connect(kind, capabilities) {
  const server = { command: binary, args: ['serve', '--root', root], stderr: 'ignore' };
  const me = { name: `story-${kind}`, version: '1' };
  if (kind === 'v1') {
    const c = new V1(me, { capabilities });
    if (capabilities.elicitation) c.setRequestHandler(ElicitRequestSchema, answer);
    await c.connect(new StdioV1(server));
    return c;
  }
  const c = new V2(me, { capabilities, versionNegotiation: { mode: kind.slice(3) } });
  if (capabilities.elicitation) c.setRequestHandler('elicitation/create', answer);
  await c.connect(new StdioV2(server));
  return c;
}

let wrong = 0, cases = 0;
function check(kind, what, got, want) {
  cases++;
  if (got !== want) wrong++;
  console.log(`${got === want ? 'ok  ' : 'FAIL'} ${kind.padEnd(9)} ${what}: ${got}${got === want ? '' : `, want ${want}`}`);
}

// said is a result in a few words.
function said(result) {
  if (typeof result === 'string') return result;
  const s = result.structuredContent ?? {};
  return [asked ? 'asked' : 'unasked', s.verdict, s.approval, result.isError ? 'error' : 'ran'].filter(Boolean).join(' ');
}

async function call(client, name, args, limit) {
  asked = 0;
  const pending = client.callTool({ name, arguments: args }).catch(e => `fault: ${e.message.slice(0, 100)}`);
  return limit ? Promise.race([pending, pause(limit)]) : pending;
}

const asking = [ // what it is, the answer, the outcome, whether the file is there afterwards
  ['accept once', choose('allow once'), 'asked allow approved ran', true],
  ['accept deny', choose('deny'), 'asked ask declined error', false],
  ['accept without a choice', { action: 'accept', content: {} }, 'asked ask declined error', false],
  ['accept with another word', choose('yes'), 'asked ask declined error', false],
  ['decline', { action: 'decline' }, 'asked ask declined error', false],
  ['cancel', { action: 'cancel' }, 'asked ask dismissed error', false],
];

for (const kind of ['v1', 'v2/legacy', 'v2/auto']) {
  const c = await connect(kind, { elicitation: kind === 'v1' ? {} : { form: {} } });
  const tools = (await c.listTools()).tools;
  check(kind, 'tools', tools.map(t => t.name).join(' '), 'safe_bash safe_edit safe_read safe_write');
  check(kind, 'tools with schemas and hints', tools.every(t => t.inputSchema && t.outputSchema && t.annotations && t.description.length < 2048), true);

  const file = join(root, 'a.txt');
  check(kind, 'safe_write', said(await call(c, 'safe_write', { path: 'a.txt', content: 'one\n' })), 'unasked allow ran');
  check(kind, 'safe_edit', said(await call(c, 'safe_edit', { path: 'a.txt', old_string: 'one', new_string: 'two' })), 'unasked allow ran');
  const read = await call(c, 'safe_read', { path: 'a.txt' });
  check(kind, 'safe_read', said(read) + ' ' + /two/.test(read.content?.[0]?.text), 'unasked allow ran true');
  check(kind, 'the file', readFileSync(file, 'utf8'), 'two\n');
  const bash = await call(c, 'safe_bash', { command: 'cat a.txt; exit 3' });
  check(kind, 'safe_bash', `${said(bash).replace(/ (ran|error)$/, '')} ${bash.structuredContent?.exit_code} ${bash.structuredContent?.stdout}`, 'unasked allow 3 two\n');
  check(kind, 'denied', said(await call(c, 'safe_bash', { command: 'rm -rf /' })), 'unasked deny error');
  check(kind, 'two spellings of one argument', said(await call(c, 'safe_bash', { command: 'ls', Command: `touch ${outside}/x` })), 'unasked deny error');

  for (const [what, r, want, there] of asking) {
    const target = join(outside, 'x');
    reply = r;
    const got = said(await call(c, 'safe_bash', { command: `touch ${target}` }));
    check(kind, what, got.startsWith('fault') && what === 'accept with another word' ? want : got, want); // SDKs may refuse to send it
    check(kind, `${what}: it ran`, existsSync(target), there);
    rmSync(target, { force: true });
  }

  reply = choose('allow for this session');
  const target = join(outside, 's');
  check(kind, 'accept for the session', said(await call(c, 'safe_bash', { command: `touch ${target}` })), 'asked allow approved ran');
  reply = { action: 'decline' };
  check(kind, 'the same call again', said(await call(c, 'safe_bash', { command: `touch ${target}` })), 'unasked allow ran');
  check(kind, 'another call', said(await call(c, 'safe_bash', { command: `touch ${target}2` })), 'asked ask declined error');

  reply = 'silent';
  const silent = await call(c, 'safe_bash', { command: `touch ${target}3` }, kind === 'v2/auto' ? 3000 : 0);
  check(kind, 'silent', said(silent), kind === 'v2/auto' ? 'silence' : 'asked ask no_answer error');
  check(kind, 'silent: it ran', existsSync(`${target}3`), false);
  check(kind, 'after the silence', said(await call(c, 'safe_bash', { command: 'true' })), 'unasked allow ran');
  await c.close();
  rmSync(target, { force: true });

  const mute = await connect(kind, {});
  const refused = await call(mute, 'safe_bash', { command: `touch ${target}` });
  check(kind, 'no capability', said(refused), 'unasked ask unsupported error');
  check(kind, 'no capability: how to be asked', /handrail (run|approvals)/.test(refused.content?.[0]?.text), true);
  check(kind, 'no capability: it ran', existsSync(target), false);
  await mute.close();
}
console.log(`${cases} cases, ${wrong} wrong`);
process.exit(wrong ? 1 : 0);
