/**
 * Uses private parts of the Agents SDK 0.x and of the client of the Model Context Protocol: a server over stdio would write its
 * standard error into that of this process, between whatever is there. Where a part is missing, it does so.
 */
import type { Readable } from 'node:stream';
import type { MCPServer } from '@openai/agents';
import { z } from 'zod';
import { boundedLines } from '../define/bounded-lines.js';

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
    transport.stderr?.on('end', () => take('\n'));
  };
}
