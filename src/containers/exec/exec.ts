import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import type { EngineConnection } from '../docker/engine-connection.js';

export interface ExecRequest {
  readonly container: string;
  readonly argv: readonly string[];
  /** Unset: that of the container. */
  readonly user?: string;
  /** Unset: the workspace. */
  readonly cwd?: string;
  readonly input?: Buffer;
  readonly gate?: Gate;
  /** Kept of each stream; what comes after it is thrown away. */
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

/** What a program says before it goes on is no part of its result, but asked about. */
export interface Gate {
  /** The end of it. */
  readonly until: string;
  /** Its answer is the whole standard input of the program. Never called with more than MAX_BEFORE_GATE bytes. What it throws ends the request. */
  readonly answer: (said: Buffer) => string | Promise<string>;
}

const MAX_BEFORE_GATE = 1_048_576;

export interface ExecResult {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Null: its stream was cut before it ended; whether it works on is not known. */
  readonly exitCode: number | null;
  readonly timedOut: boolean;
}

const takesInput = ({ input, gate }: Pick<ExecRequest, 'input' | 'gate'>): boolean =>
  input !== undefined || gate !== undefined;

const optionsOf = (request: ExecRequest): Docker.ExecCreateOptions => ({
  Cmd: [...request.argv],
  ...(request.user === undefined ? {} : { User: request.user }),
  ...(request.cwd === undefined ? {} : { WorkingDir: request.cwd }),
  AttachStdin: takesInput(request),
  AttachStdout: true,
  AttachStderr: true,
  Tty: false,
});

/** Makes what `runMade` runs, once: the engine starts it at most once, no matter who asks. */
export const makeExec = (engine: EngineConnection, request: ExecRequest, signal: AbortSignal): Promise<Docker.Exec> =>
  engine.ask('making a program ready', signal, (docker) =>
    docker.getContainer(request.container).exec(optionsOf(request)),
  );

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
    return { exec: made, stream: await startedAs(made, request) };
  });
  return follow(engine, { request, exec, stream }, signal);
}

/** Runs what was made. Throws EngineRefusal where it was started before. */
export async function runMade(
  engine: EngineConnection,
  exec: Docker.Exec,
  request: ExecRequest,
  signal: AbortSignal,
): Promise<ExecResult> {
  const stream = await engine.ask('running a program', signal, () => startedAs(exec, request));
  return follow(engine, { request, exec, stream }, signal);
}

type Started = Awaited<ReturnType<typeof startedAs>>;
const startedAs = (exec: Docker.Exec, request: ExecRequest) =>
  exec.start({ hijack: true, stdin: takesInput(request), Tty: false });

async function follow(
  engine: EngineConnection,
  { request, exec, stream }: { readonly request: ExecRequest; readonly exec: Docker.Exec; readonly stream: Started },
  signal: AbortSignal,
): Promise<ExecResult> {
  const stdout = bounded(request.maxBytes);
  const stderr = bounded(request.maxBytes);
  const { gate } = request;
  const broken: { error: unknown } = { error: null };
  const give = (answer: string | Promise<string>): void => {
    Promise.resolve(answer).then(
      (text) => stream.end(text),
      (error: unknown) => {
        broken.error = error;
        stream.destroy();
      },
    );
  };
  const shown = gate === undefined ? stdout.sink : behind(gate, stdout.sink, give);
  engine.docker.modem.demuxStream(stream, shown, stderr.sink);
  if (request.input !== undefined) stream.end(request.input);
  const end = await endOf(stream, request.timeoutMs, signal);
  stream.destroy();
  signal.throwIfAborted();
  if (broken.error !== null) throw broken.error;
  const seen = { stdout: stdout.bytes(), stderr: stderr.bytes(), timedOut: end === 'timeout' };
  if (end !== 'end') return { ...seen, exitCode: null };
  return { ...seen, exitCode: await exitCodeOf(engine, exec, signal) };
}

/** Starts something that goes on by itself, and waits until it has said a line. False: it ended, or the time was over, without. */
export async function startUntil(
  engine: EngineConnection,
  request: Omit<ExecRequest, 'maxBytes' | 'input' | 'gate'>,
  line: string,
  signal: AbortSignal,
): Promise<boolean> {
  const asked = { ...request, maxBytes: line.length };
  const exec = await makeExec(engine, asked, signal);
  const stream = await engine.ask('running a program', signal, () => startedAs(exec, asked));
  const stdout = bounded(asked.maxBytes);
  const hasSaid = (): boolean => stdout.bytes().toString('latin1') === line;
  const said = new Promise<void>((resolve) => {
    const sink = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        stdout.sink.write(chunk);
        if (hasSaid()) resolve();
        done();
      },
    });
    engine.docker.modem.demuxStream(stream, sink, bounded(0).sink);
  });
  await Promise.race([said, endOf(stream, asked.timeoutMs, signal)]);
  stream.destroy();
  signal.throwIfAborted();
  return hasSaid();
}

const ASKED_FOR_END = 20;
const ASKED_EACH_MS = 100;

/** A busy engine hears of the end of a program later than of the end of its stream. Null: it still says that the program runs. */
async function exitCodeOf(engine: EngineConnection, exec: Docker.Exec, signal: AbortSignal): Promise<number | null> {
  for (let asked = 1; ; asked++) {
    const { Running, ExitCode } = await engine.ask('asking for the end of a program', signal, () => exec.inspect());
    if (!Running) return ExitCode;
    if (asked === ASKED_FOR_END) return null;
    await sleep(ASKED_EACH_MS, undefined, { signal });
  }
}

/** How a stream ends: also one whose engine died, where neither `end` nor `error` comes. */
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

/** Passes on what comes after the gate. A program that says too much before it is given nothing to go on with. */
function behind({ until, answer }: Gate, sink: Writable, give: (answer: string | Promise<string>) => void): Writable {
  let said: Buffer | null = Buffer.alloc(0);
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      if (said === null) return void sink.write(chunk, done);
      said = Buffer.concat([said, chunk]);
      const end = said.indexOf(until);
      if (end < 0 && said.length <= MAX_BEFORE_GATE) return done();
      const rest = end < 0 ? Buffer.alloc(0) : said.subarray(end + until.length);
      give(end < 0 ? '' : answer(said.subarray(0, end)));
      said = null;
      sink.write(rest, done);
    },
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
