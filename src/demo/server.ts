import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { HoldfastError } from '../core/errors/errors.js';
import type { Place } from './place.js';

/** The build has it. */
const program = (): string => createRequire(import.meta.url).resolve('#main');
const START_TIMEOUT_MS = 45_000;
const STOP_TIMEOUT_MS = 12_000;
const KEPT_LOG_CHARACTERS = 4000;

const notStarted = (why: string): HoldfastError =>
  new HoldfastError('run_failed', `The server of the demo did not start: ${why}`);

/** The server as a process of its own, which can be killed. */
export class DemoServer {
  readonly #place: Place;
  #child: ChildProcess | null = null;
  #log = '';
  #port = 0;

  constructor(place: Place) {
    this.#place = place;
  }

  /** The end of what it logged. */
  get log(): string {
    return this.#log;
  }

  /** Starts it, on the same port each time. Resolves to its address when it listens. */
  async start(signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const { dir, env } = this.#place;
    const child = spawn(process.execPath, [program(), 'serve', '--port', String(this.#port)], {
      cwd: dir,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#log = `${this.#log}${text}`.slice(-KEPT_LOG_CHARACTERS);
    });
    const url = await this.#listening(child, AbortSignal.any([signal, AbortSignal.timeout(START_TIMEOUT_MS)]));
    this.#port = Number(new URL(url).port);
    return url;
  }

  #listening(child: ChildProcess, signal: AbortSignal): Promise<string> {
    return new Promise((resolve, reject) => {
      let said = '';
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        const url = /^agents/m.test(said) ? /^url\s+(\S+)$/m.exec(said)?.[1] : undefined;
        if (url !== undefined) resolve(url);
      });
      child.once('exit', (code) => reject(notStarted(`it ended with code ${code}.\n${this.#log}`)));
      signal.addEventListener('abort', () => reject(notStarted(`it took too long.\n${this.#log}`)), { once: true });
    });
  }

  /** Ends it as a power switch would: it can neither finish nor clean up anything. */
  async kill(): Promise<void> {
    const child = this.end();
    if (child !== null) await once(child, 'exit');
  }

  /** The same without a wait. Returns the process that is about to end, or null when none is there. */
  end(): ChildProcess | null {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return null;
    child.kill('SIGKILL');
    return child;
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await Promise.race([once(child, 'exit'), once(AbortSignal.timeout(STOP_TIMEOUT_MS), 'abort')]);
    await this.kill();
  }

  /** Runs one command against the server and resolves to what it printed. */
  async command(url: string, ...args: readonly string[]): Promise<string> {
    const { dir, env } = this.#place;
    const child = spawn(process.execPath, [program(), ...args], {
      cwd: dir,
      env: { ...env, HOLDFAST_URL: url },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
      });
    }
    await once(child, 'close');
    return printed;
  }
}
