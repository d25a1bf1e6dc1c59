import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { COMMAND_EXAMPLES } from '../../src/cli/command-examples.js';
import type { Operation } from '../../src/core/operations/operation.js';
import { OPERATIONS } from '../../src/core/operations/table.js';
import { runHere } from './in-process.js';

/** What an example sends is what its operation takes. A server here reads the requests, and knows nothing of what they name. */

const dir = mkdtempSync(join(tmpdir(), 'holdfast-examples-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Commands that ask no server, or read files that are not here. */
const LOCAL: ReadonlySet<string> = new Set([
  ...[
    'init',
    'dev',
    'serve',
    'console',
    'plan check',
    'watch',
    'batches',
    'proof',
    'signing-key',
    'doctor',
    'preflight',
  ],
  ...['task new', 'task check', 'task validate', 'task import', 'task export', 'task submit', 'task register'],
  ...['task duplicates', 'task diff', 'dataset create', 'migrate', 'compact', 'demo', 'crashtest', 'bench'],
  ...['completion', 'errors'],
]);

const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

interface Sent {
  readonly method: string;
  readonly url: URL;
  readonly body: unknown;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces).toString('utf8');
}

async function sentBy(args: readonly string[]): Promise<readonly Sent[]> {
  const sent: Sent[] = [];
  const server = createServer(async (request, response) => {
    const text = await textOf(request);
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    sent.push({ method: request.method ?? '', url: new URL(request.url ?? '', 'http://here'), body });
    const problem = { code: 'not_found', title: 'Nothing', status: 404, detail: 'Nothing is here.', hint: 'None.' };
    response.writeHead(404, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    await runHere(args, { HOLDFAST_URL: url, HOLDFAST_TOKEN: 'a-token-of-the-examples', HOLDFAST_DATA_DIR: dir });
  } finally {
    server.closeAllConnections();
    server.close();
  }
  return sent;
}

const patternOf = ({ path }: Operation): RegExp => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);

function problemsOf({ method, url, body }: Sent): unknown {
  const all: readonly Operation[] = Object.values(OPERATIONS);
  const fits = all.filter((one) => one.method === method && patternOf(one).test(url.pathname));
  const asked = fits.find(({ path }) => !path.includes('{')) ?? fits[0];
  if (asked === undefined) return `${method} ${url.pathname} is no operation`;
  return asked.body.safeParse(body ?? {}).error?.issues ?? null;
}

/** A command whose input is `-` reads what is typed. */
const examples = Object.entries(COMMAND_EXAMPLES).flatMap(([name, lines]) =>
  LOCAL.has(name) ? [] : lines.flatMap(([, line]) => (/ -( |$)/.test(line) ? [] : [line])),
);

it.each(examples)('%s', { timeout: 20_000 }, async (line) => {
  const [, ...args] = words(line.replace(/ > .+$/, '').replaceAll(/(?<=\s)@\S+/g, '{}'));
  const sent = await sentBy(args);
  expect(sent.length).toBeGreaterThan(0);
  expect(sent.map(problemsOf)).toEqual(sent.map(() => null));
});
