import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Readable } from 'node:stream';
import { Worker } from 'node:worker_threads';
import { BodyLost } from '../../core/runs/call.js';
import type { ToolSpec } from '../../core/tools/tool.js';
import { boundedLines } from '../define/bounded-lines.js';
import { type AbortMessage, type CallMessage, type HostMessage, hostMessageOf } from './isolated-messages.js';

export type Isolated = NonNullable<ToolSpec['isolated']>;

export interface PortEars {
  readonly message: (message: HostMessage) => void;
  /** It is gone. */
  readonly ended: (lost: BodyLost) => void;
  /** A line that it wrote to its standard output or standard error. */
  readonly said: (line: string) => void;
}

/** The way to a thread or a process in which bodies work. */
export interface Port {
  readonly send: (message: CallMessage | AbortMessage) => void;
  /** Ends it with all that it has started, whatever it does. */
  readonly kill: () => void;
  /** Whether this process goes on for its sake. */
  readonly hold: (isHeld: boolean) => void;
  /** Milliseconds of processor time so far; null: not known here. `taskId`: what a thread said of itself. */
  readonly cpuMs: (taskId: string | null) => number | null;
  /** Bytes that it has in memory; null: not known here, or bounded in another way. */
  readonly heldBytes: () => number | null;
}

/** Milliseconds in a unit of processor time as Linux shows it. */
const TICK_MS = 10;
/** The last lines of its standard error say that a process of Node.js had no memory. */
const NO_MEMORY = /heap out of memory|heap limit|Allocation failed/i;
const HEARD_CHARS = 4096;

/** The build has it, also where this file is read as it was written. */
const program = (): string => createRequire(import.meta.url).resolve('#isolated-host');

export const tooMuch = ({ isolation, memoryMb }: Isolated): BodyLost =>
  new BodyLost('tool_memory', `The ${isolation} of its body had more than ${memoryMb} MiB in memory, and was ended.`);

export function openThread(isolated: Isolated, ears: PortEars): Port {
  const { env, memoryMb } = isolated;
  const resourceLimits = { maxOldGenerationSizeMb: memoryMb };
  const worker = new Worker(program(), { env, execArgv: [], stdout: true, stderr: true, resourceLimits });
  let lost: BodyLost | null = null;
  worker.on('message', (said) => hear(said, ears));
  worker.on('error', (error: NodeJS.ErrnoException) => {
    lost =
      error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? tooMuch(isolated)
        : new BodyLost('tool_exited', `The thread of its body ended: ${error.message}`);
  });
  worker.on('exit', (code) =>
    ears.ended(lost ?? new BodyLost('tool_exited', `The thread of its body ended with code ${code}.`)),
  );
  hearLines(worker.stdout, ears.said);
  hearLines(worker.stderr, ears.said);
  return {
    send: (message) => worker.postMessage(message),
    kill: () => void worker.terminate(),
    hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
    cpuMs: (taskId) => (taskId === null ? null : cpuMsIn(`/proc/self/task/${taskId}/stat`)),
    heldBytes: () => null,
  };
}

export function openProcess(isolated: Isolated, ears: PortEars): Port {
  const { env, memoryMb } = isolated;
  const child = fork(program(), [String(process.pid)], {
    ...{ env, execArgv: [`--max-old-space-size=${memoryMb}`], serialization: 'advanced' },
    // A group of its own, which is ended as a whole.
    ...{ detached: true, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] },
  });
  let isOver = false;
  let heard = '';
  const over = (lost: BodyLost): void => {
    if (isOver) return;
    isOver = true;
    killGroup(child.pid);
    ears.ended(lost);
  };
  child.on('message', (said) => hear(said, ears));
  child.on('error', (error) => {
    // A process that was not started never ends.
    if (child.pid === undefined) over(new BodyLost('tool_exited', `No process could be started: ${error.message}`));
  });
  // Its standard error has been read to its end then.
  child.on('close', (code, signal) => {
    const how = signal === null ? `with code ${code}` : `by ${signal}`;
    const why = signal === 'SIGABRT' && NO_MEMORY.test(heard) ? tooMuch(isolated) : null;
    over(why ?? new BodyLost('tool_exited', `The process of its body ended ${how}.`));
  });
  child.on('exit', () => killGroup(child.pid));
  hearLines(child.stdout, ears.said);
  hearLines(child.stderr, ears.said, (piece) => {
    heard = (heard + piece).slice(-HEARD_CHARS);
  });
  return {
    send: (message) =>
      // That it is gone says its end.
      void child.send(message, () => undefined),
    kill: () => killGroup(child.pid),
    hold: (isHeld) => {
      for (const part of [child, child.channel, child.stdout, child.stderr]) holdPart(part, isHeld);
    },
    cpuMs: () => cpuMsIn(`/proc/${child.pid}/stat`),
    heldBytes: () => residentBytesOf(child.pid),
  };
}

/** The channel is also that of the modules of the body, which may say anything on it. */
function hear(said: unknown, { message }: PortEars): void {
  const heard = hostMessageOf(said);
  if (heard !== null) message(heard);
}

function holdPart(part: unknown, isHeld: boolean): void {
  const counted = part as { ref?: () => void; unref?: () => void } | null | undefined;
  if (isHeld) counted?.ref?.();
  else counted?.unref?.();
}

function hearLines(stream: Readable | null, say: (line: string) => void, also?: (piece: string) => void): void {
  const take = boundedLines(say);
  stream?.setEncoding('utf8').on('data', (piece: string) => {
    also?.(piece);
    take(piece);
  });
  // The last words of one that ends may have no line break.
  stream?.on('end', () => take('\n'));
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing of it is left.
  }
}

/** What Linux says of a process or of a thread; null: it is gone, or another system. */
function cpuMsIn(path: string): number | null {
  const fields = read(path)?.split(') ').at(-1)?.split(' ');
  const ticks = Number(fields?.[11]) + Number(fields?.[12]);
  return Number.isFinite(ticks) ? ticks * TICK_MS : null;
}

function residentBytesOf(pid: number | undefined): number | null {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1];
  return kib === undefined ? null : Number(kib) * 1024;
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return null;
  }
}
