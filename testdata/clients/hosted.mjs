// Every outcome of a question, through the official clients over HTTP: SDK v1, and
// SDK v2 in the old era and negotiating the new one, over streamable HTTP; both
// over HTTP+SSE. Then what a client that cancels, goes away or is told a lot sees.
// Usage: node hosted.mjs URL TOKEN WORKSPACE
// The server asks before it writes files named ask-*, waits 2 s for an answer, and
// has the conformance suite's test_tool_with_progress.
import { Client as V2, SSEClientTransport as SseV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { Client as V1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as SseV1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const [url, token, root] = process.argv.slice(2);
const never = new Promise(() => {});
const choose = decision => ({ action: 'accept', content: { decision } });
const pause = ms => new Promise(ok => setTimeout(ok, ms));

let reply, asked, closed; // what questions are answered with; how many came; whether one was taken back
const answer = async (request, extra) => {
  asked++;
  const field = request.params.requestedSchema?.properties?.decision;
  if (!field || field.default !== undefined || !field.enum?.includes('deny')) throw new Error('not the form that was agreed');
  const signal = extra?.signal ?? extra?.mcpReq?.signal;
  signal?.addEventListener('abort', () => { closed = true; });
  return reply === 'silent' ? never : reply;
};

async function connect(kind, capabilities) {
  const [version, era, wire] = kind.split('/');
  const me = { name: `hosted-${kind}`, version: '1' };
  const headers = { Authorization: `Bearer ${token}` };
  const options = { requestInit: { headers }, eventSourceInit: { fetch: (u, init) => fetch(u, { ...init, headers: { ...init?.headers, ...headers, Accept: 'text/event-stream' } }) } };
  const v1 = version === 'v1';
  const Transport = wire === 'sse' ? (v1 ? SseV1 : SseV2) : (v1 ? HttpV1 : HttpV2);
  const c = v1 ? new V1(me, { capabilities }) : new V2(me, { capabilities, versionNegotiation: { mode: era } });
  if (capabilities.elicitation) c.setRequestHandler(v1 ? ElicitRequestSchema : 'elicitation/create', answer);
  await c.connect(new Transport(new URL(wire === 'sse' ? '/sse' : '/mcp', url), options));
  return c;
}

let wrong = 0, cases = 0;
function check(kind, what, got, want) {
  cases++;
  if (got !== want) wrong++;
  console.log(`${got === want ? 'ok  ' : 'FAIL'} ${kind.padEnd(14)} ${what}: ${got}${got === want ? '' : `, want ${want}`}`);
}

function said(result) {
  if (typeof result === 'string') return result;
  const s = result.structuredContent ?? {};
  return [asked ? 'asked' : 'unasked', s.verdict, s.approval, result.isError ? 'error' : 'ran'].filter(Boolean).join(' ');
}

// invoke calls a tool; SDK v1 has a schema between the parameters and the options.
const invoke = (c, kind, params, options) => kind.startsWith('v1') ? c.callTool(params, undefined, options) : c.callTool(params, options);

async function call(c, kind, name, args, options) {
  asked = 0;
  return invoke(c, kind, { name, arguments: args }, options).catch(e => `fault: ${e.message.slice(0, 100)}`);
}

const asking = [
  ['accept once', choose('allow once'), 'asked allow approved ran', true],
  ['accept deny', choose('deny'), 'asked ask declined error', false],
  ['accept without a choice', { action: 'accept', content: {} }, 'asked ask declined error', false],
  ['decline', { action: 'decline' }, 'asked ask declined error', false],
  ['cancel', { action: 'cancel' }, 'asked ask dismissed error', false],
];

async function until(what) {
  for (let i = 0; i < 1500; i++) {
    if (await what()) return true;
    await pause(20);
  }
  return false;
}

// running starts a command that would take for ever and returns its process.
async function running(c, kind, options) {
  const file = join(root, 'pid');
  rmSync(file, { force: true });
  const pending = call(c, kind, 'safe_bash', { command: 'sleep 1000 & echo $! > pid.new; mv pid.new pid; wait' }, options);
  await until(() => existsSync(file));
  return [Number(readFileSync(file, 'utf8')), pending];
}

const gone = pid => until(() => {
  try { // a zombie that nobody has waited for yet has ended, too
    return /^\S+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
});

for (const kind of ['v1/legacy/http', 'v2/legacy/http', 'v2/auto/http', 'v1/legacy/sse', 'v2/legacy/sse', 'v2/auto/sse']) {
  const modern = kind === 'v2/auto/http'; // over SSE there is only the old era: clients fall back
  const c = await connect(kind, { elicitation: kind.startsWith('v1') ? {} : { form: {} } });
  check(kind, 'tools', (await c.listTools()).tools.map(t => t.name).filter(n => n.startsWith('safe_')).join(' '), 'safe_bash safe_edit safe_read safe_write');
  const file = join(root, 'ask-it.txt');
  const write = { path: 'ask-it.txt', content: 'x\n' };
  for (const [what, r, want, there] of asking) {
    reply = r;
    check(kind, what, said(await call(c, kind, 'safe_write', write)), want);
    check(kind, `${what}: it ran`, existsSync(file), there);
    rmSync(file, { force: true });
  }
  if (!modern) { // there the call has ended when the client asks
    reply = 'silent';
    closed = false;
    check(kind, 'silent', said(await call(c, kind, 'safe_write', write)), 'asked ask no_answer error');
    check(kind, 'silent: the dialog is closed', await until(() => closed), true);
  }

  // Over SSE the SDK forgets a call when its response comes in one piece with its
  // notifications: there they are counted as they come in.
  let told = 0, ran = 0;
  const sse = kind.endsWith('sse');
  const take = c.transport.onmessage;
  if (sse) c.transport.onmessage = (m, ...rest) => { if (m.method === 'notifications/progress') told++; take(m, ...rest); };
  for (let i = 0; i < 1000; i++) {
    const r = await invoke(c, kind, { name: 'test_tool_with_progress', arguments: {} }, { onprogress: () => { if (!sse) told++; } });
    if (!r.isError) ran++;
  }
  check(kind, '1000 calls with three notifications each', `${ran} ${told}`, '1000 3000');

  const stop = new AbortController();
  const [cancelled, pending] = await running(c, kind, { signal: stop.signal, timeout: 60000 });
  stop.abort('enough');
  await pending;
  check(kind, 'cancelled: its process has ended', await gone(cancelled), true);
  check(kind, 'afterwards', said(await call(c, kind, 'safe_bash', { command: 'true' })), 'unasked allow ran');

  const mute = await connect(kind, {});
  check(kind, 'no capability', said(await call(mute, kind, 'safe_write', write)), 'unasked ask unsupported error');
  check(kind, 'no capability: it ran', existsSync(file), false);
  const [left] = await running(mute, kind, { timeout: 60000 });
  await mute.close();
  check(kind, 'gone: its process has ended', await gone(left), true);
  await c.close();
}
console.log(`${cases} cases, ${wrong} wrong`);
process.exit(wrong ? 1 : 0);
