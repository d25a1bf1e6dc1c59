/**
 * A door to private parts of the Agents SDK 0.x and of the client of the Model Context Protocol: a server over stdio would write its
 * standard error into that of this process, between whatever is there. Where a part is missing, it does so.
 */
import type { Readable } from 'node:stream';
import type { MCPServer } from '@openai/agents';
import { z } from 'zod';

/** Of one server: more is left out, and counted. */
const LINES_MAX = 200;
const PER_MS = 10_000;
const LINE_CHARS = 2000;

const overStdio = z.object({ params: z.object({ command: z.string() }), transport: z.unknown() });
const unstarted = z.object({ _serverParams: z.object({ stderr: z.undefined().optional() }), start: z.function() });

interface Transport {
  readonly _serverParams: { stderr?: 'pipe' };
  start: () => Promise<void>;
  readonly stderr: Readable | null;
}

const heard = new WeakSet<object>();

/** From its next connection on, each line that a server over stdio writes to its standard error goes to `say`. */
export function hearStderr(server: MCPServer, say: (line: string) => void): void {
  const inner: unknown = Reflect.get(server, 'underlying');
  if (typeof inner !== 'object' || inner === null || heard.has(inner) || !overStdio.safeParse(inner).success) return;
  heard.add(inner);
  let transport: unknown = Reflect.get(inner, 'transport');
  Object.defineProperty(inner, 'transport', {
    configurable: true,
    enumerable: true,
    get: () => transport,
    set: (made: unknown) => {
      transport = made;
      if (unstarted.safeParse(made).success) pipe(made as Transport, say);
    },
  });
}

function pipe(transport: Transport, say: (line: string) => void): void {
  const { start } = transport;
  transport._serverParams.stderr = 'pipe';
  transport.start = async () => {
    await start.call(transport);
    const take = boundedLines(say);
    transport.stderr?.setEncoding('utf8').on('data', take);
  };
}

/** Puts pieces of text together to lines. */
function boundedLines(say: (line: string) => void): (piece: string) => void {
  let rest = '';
  let since = performance.now();
  let said = 0;
  let left = 0;
  const tell = (line: string): void => {
    if (performance.now() - since > PER_MS) {
      if (left > 0) say(`(${left} lines are left out)`);
      since = performance.now();
      said = 0;
      left = 0;
    }
    if (said++ < LINES_MAX) say(line.slice(0, LINE_CHARS));
    else left++;
  };
  return (piece) => {
    const lines = (rest + piece).split('\n');
    rest = (lines.pop() ?? '').slice(0, LINE_CHARS);
    for (const line of lines) if (line.trim() !== '') tell(line);
  };
}
