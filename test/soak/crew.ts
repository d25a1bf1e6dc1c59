import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkerProcess } from '../workers/worker-process.js';
import { type Sample, sampleIn } from './sample.js';

const PROGRAM = join(import.meta.dirname, 'worker.js');
const START_AGAIN_MS = 1000;
/** SIGTERM: 10 s, as docs/operate/workers.md has it, and what a busy machine adds. */
const DRAIN_WITHIN_MS = 20_000;
const SAMPLE_WITHIN_MS = 10_000;
const LAST_CHARS = 600;

/** One place in the crew: a worker that is started again whenever it has ended. */
export class Place {
  readonly name: string;
  /** Whether it is left alone, so that one worker lives through everything. */
  readonly isSpared: boolean;
  readonly #env: Readonly<Record<string, string>>;
  readonly #problem: (what: string) => void;
  #process: WorkerProcess | null = null;
  #expected = new Set<NodeJS.Signals | number | null>();
  #frozen = false;
  #ends = false;
  /** How often it ended and was started again. */
  starts = 0;

  constructor(name: string, isSpared: boolean, env: Readonly<Record<string, string>>, problem: (what: string) => void) {
    this.name = name;
    this.isSpared = isSpared;
    this.#env = env;
    this.#problem = problem;
  }

  get isUp(): boolean {
    return this.#process?.said.includes('ready\n') === true && !this.#process.isGone;
  }

  get isFrozen(): boolean {
    return this.#frozen;
  }

  /** Keeps a worker here, under this name or a new one after each end, until `end`. `pauseMs`: how long the place stays empty. */
  async keep(next: () => { readonly id: string; readonly pauseMs: number }): Promise<void> {
    for (let id = this.name; !this.#ends; ) {
      this.#expected = new Set();
      const process = new WorkerProcess({ ...this.#env, WORKER_ID: id }, ['--expose-gc', PROGRAM]);
      this.#process = process;
      this.starts += 1;
      const end = await process.ended;
      this.#frozen = false;
      if (this.#ends) return;
      const wasReady = process.said.includes('ready\n');
      // Without a database no one can start; who was ready has no reason to end by itself.
      if (wasReady && !this.#expected.has(end))
        this.#problem(`worker ${id} ended with ${end}: ${process.said.slice(-LAST_CHARS)}`);
      if (!wasReady && end !== 'SIGKILL') {
        await sleep(START_AGAIN_MS);
        continue;
      }
      const chosen = next();
      id = chosen.id;
      await sleep(chosen.pauseMs);
    }
  }

  kill(): void {
    this.#expected.add('SIGKILL');
    this.#process?.kill('SIGKILL');
  }

  async drain(): Promise<void> {
    const process = this.#process;
    this.#expected.add(0);
    process?.kill('SIGTERM');
    const late = sleep(DRAIN_WITHIN_MS, 'late' as const);
    if ((await Promise.race([process?.ended, late])) !== 'late') return;
    this.#problem(`worker ${this.name} did not end ${DRAIN_WITHIN_MS} ms after SIGTERM`);
    this.kill();
  }

  /** Lets it stand still. When it goes on it may find that another one has its place, and ends then. */
  async freeze(ms: number): Promise<void> {
    const process = this.#process;
    this.#expected.add(1);
    this.#frozen = true;
    process?.kill('SIGSTOP');
    await sleep(ms);
    process?.kill('SIGCONT');
    // What it had begun goes on now, and shows in the ledger before anybody looks.
    await sleep(1000);
    if (this.#process === process) this.#frozen = false;
  }

  /** What it holds now; null: it does not say. */
  async sample(): Promise<Sample | null> {
    const process = this.#process;
    if (process === null) return null;
    const before = process.said.split('sample ').length;
    process.kill('SIGUSR2');
    for (const until = performance.now() + SAMPLE_WITHIN_MS; performance.now() < until; await sleep(50))
      if (process.said.split('sample ').length > before && process.said.endsWith('\n')) return sampleIn(process.said);
    return null;
  }

  async end(): Promise<void> {
    this.#ends = true;
    this.#process?.kill('SIGKILL');
    await this.#process?.ended;
  }

  get said(): string {
    return this.#process?.said ?? '';
  }
}
