import { spawn } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { parentPort, threadId } from 'node:worker_threads';

/** Bodies of tools that work in a thread or process of their own. */

const never = new Promise(() => {});
let calls = 0;

export const execute = ({ text }) => ({ text: text.toUpperCase() });

export function look(_input, context) {
  const { runId, callId, tenant, agent, idempotencyKey } = context;
  return {
    ...{ runId, callId, tenant, agent, idempotencyKey, given: Object.keys(context).sort() },
    ...{ random: [context.random(), context.random()], now: context.now(), env: { ...process.env } },
    ...{ pid: process.pid, threadId, calls: ++calls },
  };
}

export function loop({ file }) {
  if (file !== undefined) appendFileSync(file, `${process.pid}\n`);
  for (;;);
}

/** Leaves a process of its own behind. */
export function parent({ file }) {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  writeFileSync(file, JSON.stringify([process.pid, child.pid]));
}

export function family(input) {
  parent(input);
  for (;;);
}

export const heap = () => {
  const held = [];
  for (;;) held.push(new Array(100_000).fill(held.length));
};

export const buffers = () => {
  const held = [];
  for (;;) held.push(Buffer.alloc(8 * 1024 * 1024, held.length));
};

export const failing = () => {
  throw new Error('the file is not one');
};
export const odd = () => ({ text: () => 'a function' });
export const large = () => 'x'.repeat(2_000_000);
export const exits = () => process.exit(3);
export const waits = () => ({ [Symbol.for('holdfast.wait')]: true });
export const late = () => {
  setTimeout(() => {
    throw new Error('the timer is angry');
  }, 10);
  return never;
};
export const rejects = () => {
  void Promise.reject(new Error('nobody listens'));
  return never;
};
/** What it leaves behind throws when somebody else is at work. */
export const spoils = () => {
  setTimeout(() => {
    throw new Error('much too late');
  }, 100);
  return 'done';
};
export const patient = (_input, { signal }) =>
  new Promise((resolve) => {
    if (signal.aborted) resolve('stopped');
    else signal.addEventListener('abort', () => resolve('stopped'));
  });
export const writes = ({ text }) => {
  process.stdout.write(`{"level":"fatal","says":"${text}"}\n`);
  console.error(`${text} on standard error`);
  return 'written';
};

/** Says things on the channel of its thread or process, as programs do that expect someone else there. */
export const speaks = () => {
  const say = (said) => (parentPort === null ? process.send(said) : parentPort.postMessage(said));
  const odd = [
    null,
    'ready',
    7,
    { type: 'ready' },
    { type: 'answer', call: 1, again: true },
    { type: 'late', call: 1 },
  ];
  for (const said of odd) say(said);
  // No call is at work then.
  setTimeout(() => odd.forEach(say), 50);
  return 'spoken';
};
