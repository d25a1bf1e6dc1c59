import { Writable } from 'node:stream';
import type Docker from 'dockerode';
import type { EngineConnection } from './engine-connection.js';

export interface ExecRequest {
  readonly container: string;
  readonly argv: readonly string[];
  /** Null: the user of the container. */
  readonly user?: string;
  readonly input?: Buffer;
  /** Kept of each stream; what comes after it is thrown away. */
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

export interface ExecResult {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Null: its stream was cut before it ended; whether it works on is not known. */
  readonly exitCode: number | null;
  readonly timedOut: boolean;
}

const optionsOf = ({ argv, user, input }: Pick<ExecRequest, 'argv' | 'user' | 'input'>): Docker.ExecCreateOptions => ({
  Cmd: [...argv],
  AttachStdin: input !== undefined,
  AttachStdout: true,
  AttachStderr: true,
  Tty: false,
  ...(user === undefined ? {} : { User: user }),
});

/**
 * Runs something in a container and reads what it says. Its end is that of its stream; a stream that breaks leaves `exitCode`
 * null: what must not run twice sees to that itself.
 */
export async function runAttached(
  engine: EngineConnection,
  request: ExecRequest,
  signal: AbortSignal,
): Promise<ExecResult> {
  const { exec, stream } = await engine.ask('running a program', signal, async (docker) => {
    const made = await docker.getContainer(request.container).exec(optionsOf(request));
    return { exec: made, stream: await made.start({ hijack: true, stdin: request.input !== undefined, Tty: false }) };
  });
  const stdout = bounded(request.maxBytes);
  const stderr = bounded(request.maxBytes);
  engine.docker.modem.demuxStream(stream, stdout.sink, stderr.sink);
  if (request.input !== undefined) stream.end(request.input);
  const end = await endOf(stream, request.timeoutMs, signal);
  stream.destroy();
  signal.throwIfAborted();
  const seen = { stdout: stdout.bytes(), stderr: stderr.bytes(), timedOut: end === 'timeout' };
  if (end !== 'end') return { ...seen, exitCode: null };
  const { Running, ExitCode } = await engine.ask('asking for the end of a program', signal, () => exec.inspect());
  return { ...seen, exitCode: Running ? null : ExitCode };
}

/** How a stream ends: also one whose engine died, of which neither `end` nor `error` comes. */
function endOf(
  stream: NodeJS.ReadWriteStream & { destroyed?: boolean },
  timeoutMs: number,
  signal: AbortSignal,
): Promise<'end' | 'broken' | 'timeout' | 'aborted'> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => done('timeout'), timeoutMs);
    const onAbort = (): void => done('aborted');
    const done = (how: 'end' | 'broken' | 'timeout' | 'aborted'): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      resolve(how);
    };
    if (signal.aborted) return done('aborted');
    signal.addEventListener('abort', onAbort);
    stream.on('end', () => done('end'));
    stream.on('error', () => done('broken'));
    stream.on('close', () => done('broken'));
  });
}

/** Keeps the first bytes of what is written to it. */
function bounded(maxBytes: number): { readonly sink: Writable; readonly bytes: () => Buffer } {
  const chunks: Buffer[] = [];
  let size = 0;
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      const kept = chunk.subarray(0, Math.max(0, maxBytes - size));
      if (kept.length > 0) chunks.push(kept);
      size += kept.length;
      done();
    },
  });
  return { sink, bytes: () => Buffer.concat(chunks) };
}
