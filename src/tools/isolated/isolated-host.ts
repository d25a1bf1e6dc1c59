/** Program of a thread or process in which bodies of tools work, one at a time. It knows nothing of the engine. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { readlinkSync } from 'node:fs';
import { getHeapStatistics, serialize } from 'node:v8';
import { parentPort, Worker } from 'node:worker_threads';
import { seededRandom } from '../../core/seeded-random.js';
import type { AbortMessage, Answer, CallMessage, HostMessage } from './isolated-messages.js';

interface AtWork {
  readonly call: number;
  readonly stop: AbortController;
}

const TEXT_CHARS = 8192;
const WAIT = Symbol.for('holdfast.wait');
const bodies = new AsyncLocalStorage<AtWork>();
let atWork: AtWork | null = null;
let isSpoilt = false;

const send = (message: HostMessage): void => {
  if (parentPort === null) process.send?.(message);
  else parentPort.postMessage(message);
};

const hear = (message: CallMessage | AbortMessage): void => {
  if (message.type === 'call') void work(message);
  else if (atWork?.call === message.call) atWork.stop.abort(new Error(message.reason));
};

async function work(message: CallMessage): Promise<void> {
  const { call } = message;
  const mine: AtWork = { call, stop: new AbortController() };
  atWork = mine;
  const answer = await bodies.run(mine, () => answerOf(message, mine.stop.signal));
  if (atWork === mine) atWork = null;
  send({ type: 'answer', call, answer, again: !isSpoilt && heldBytes() <= message.keepBytes });
}

async function answerOf(message: CallMessage, signal: AbortSignal): Promise<Answer> {
  try {
    const body = await bodyOf(message);
    const { context, aheadMs } = message;
    const output: unknown = await body(message.input, {
      ...context,
      signal,
      now: () => Date.now() + aheadMs,
      random: seededRandom(context.idempotencyKey),
    });
    return sent(output, message.maxBytes);
  } catch (error) {
    return { error: textOf(error) };
  }
}

async function bodyOf({ module, export: name }: CallMessage): Promise<(...args: unknown[]) => unknown> {
  const found: unknown = Reflect.get(await load(module), name);
  if (typeof found !== 'function') throw new Error(`${module} exports no function ${name}.`);
  return found as (...args: unknown[]) => unknown;
}

/** A module in TypeScript is loaded as a configuration is. */
async function load(module: string): Promise<object> {
  if (!/\.[mc]?ts$/.test(module)) return import(module);
  const { createJiti } = await import('jiti');
  return createJiti(import.meta.url, { fsCache: false, interopDefault: false }).import(module);
}

function sent(output: unknown, maxBytes: number): Answer {
  if (typeof output === 'object' && output !== null && WAIT in output)
    return { error: 'its body works in a thread or process of its own, where a call cannot wait.' };
  let bytes: Uint8Array;
  try {
    bytes = serialize(output);
  } catch (error) {
    return { error: `what it returned cannot be sent: ${textOf(error)}` };
  }
  if (bytes.byteLength <= maxBytes) return { output: bytes };
  return { error: `what it returned has ${bytes.byteLength} bytes as it is sent.`, tooLarge: true };
}

/** What is left of earlier calls: of a thread its heap, of a process all. */
const heldBytes = (): number => (parentPort === null ? process.memoryUsage.rss() : getHeapStatistics().used_heap_size);

/** What a call threw that has ended is no one's any more; the one that comes next gets another thread or process. */
function threwLate(thrown: unknown): void {
  const owner = bodies.getStore() ?? atWork;
  isSpoilt = true;
  if (owner !== null && owner === atWork) send({ type: 'late', call: owner.call, error: textOf(thrown) });
  else process.stderr.write(`threw after its call had ended: ${textOf(thrown)}\n`);
}

function textOf(thrown: unknown): string {
  try {
    return (thrown instanceof Error ? thrown.message : String(thrown)).slice(0, TEXT_CHARS);
  } catch {
    return `a value of type ${typeof thrown} without a text`;
  }
}

/** Of this thread itself; the name of the process would be that of its first thread. */
function taskId(): string | null {
  try {
    return readlinkSync('/proc/thread-self').split('/').at(-1) ?? null;
  } catch {
    return null;
  }
}

/** Ends this process with all that its bodies have started, when the process is gone that it works for. */
async function watchParent(): Promise<void> {
  process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'));
  // A body that never lets go keeps this thread from hearing anything.
  const parent = Number(process.argv[2]);
  const watch = new Worker(
    `const look = () => process.ppid === ${parent} || process.kill(-process.pid, 'SIGKILL');
     setInterval(look, 200);
     look();`,
    { eval: true, stdout: false },
  );
  await new Promise((resolve) => watch.once('online', resolve));
  watch.unref();
}

process.on('uncaughtException', threwLate);
process.on('unhandledRejection', threwLate);
if (parentPort === null) {
  await watchParent();
  process.on('message', hear);
} else parentPort.on('message', hear);
send({ type: 'ready', taskId: taskId() });
