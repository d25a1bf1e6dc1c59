import { setTimeout as sleep } from 'node:timers/promises';
import { Option } from 'commander';
import { z } from 'zod';
import { type ErrorCode, HoldfastError } from '../core/errors/errors.js';
import { ServerAway } from './event-stream.js';
import { whole } from './options.js';
import { printNote } from './print.js';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
const RETRY_SECONDS = 300;
const RETRY_SECONDS_MAX = 86_400;

/** What a server answers that starts, stops, or has lost its database. */
const PASSING: readonly ErrorCode[] = ['engine_not_running', 'database_unreachable'];

export const retryOption = (): Option =>
  new Option(
    '--retry-for <seconds>',
    'how long to try again while no server answers; 0 gives up at once, with the exit code 4',
  )
    .argParser(whole(0, RETRY_SECONDS_MAX))
    .default(RETRY_SECONDS);
export const retryFor = z.number();

/** The server was away for longer than the command may wait for it. */
export class ServerGone extends HoldfastError {}

/** Tries again while no server answers, with pauses that grow from a quarter of a second to ten. */
export class ServerReturn {
  readonly #limitMs: number;
  #awaySinceMs: number | null = null;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(limitSeconds: number) {
    this.#limitMs = limitSeconds * 1000;
  }

  /** Repeats a request that may be sent more than once. Throws `ServerGone` when the time is over, and every other error at once. */
  async ask<T>(request: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        const answer = await request();
        this.answered();
        return answer;
      } catch (error) {
        await this.pause(error);
      }
    }
  }

  answered(): void {
    if (this.#awaySinceMs !== null) printNote('The server answers again.');
    this.#awaySinceMs = null;
    this.#pauseMs = FIRST_PAUSE_MS;
  }

  /** Pauses before the next try. Throws as `ask` does. */
  async pause(error: unknown): Promise<void> {
    if (!(error instanceof HoldfastError) || !(error instanceof ServerAway || PASSING.includes(error.code)))
      throw error;
    const nowMs = performance.now();
    const limit = `${this.#limitMs / 1000} seconds`;
    if (this.#awaySinceMs === null && this.#limitMs > 0) printNote(`${error.message} Trying again for ${limit}.`);
    this.#awaySinceMs ??= nowMs;
    const leftMs = this.#awaySinceMs + this.#limitMs - nowMs;
    if (leftMs <= 0) throw gone(error, limit);
    await sleep(Math.min(this.#pauseMs, leftMs));
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

const gone = (cause: HoldfastError, limit: string): ServerGone =>
  new ServerGone(cause.code, `${cause.message.replace(/\.$/, '')}, and did not within ${limit}.`, {
    cause,
    hint: 'Start the server with `holdfast serve`, or check HOLDFAST_URL. Repeat the command, or wait longer with --retry-for.',
  });
