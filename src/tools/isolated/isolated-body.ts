import { deserialize } from 'node:v8';
import { HoldfastError } from '../../core/errors/errors.js';
import { BodyLost } from '../../core/runs/call.js';
import type { ToolContext, ToolSpec } from '../../core/tools/tool.js';
import type { Answer, HostMessage } from './isolated-messages.js';
import { type Isolated, openProcess, openThread, type Port, tooMuch } from './isolated-port.js';

/** How long a thread or process may take until it can work. */
const START_MS = 60_000;
/** After its signal has fired a body may end by itself for so long. */
const GRACE_MS = 2000;
const LOOK_EVERY_MS = 50;
const MIB = 1024 * 1024;
/** What leaves more than this part of its memory behind is not used again. */
const KEPT_PART = 0.75;
/** A value takes at most so much more as it is sent than as JSON. */
const SENT_PER_JSON = 4;
const SENT_AT_LEAST = 65_536;

interface AtWork {
  readonly call: number;
  readonly cpuBeforeMs: number;
  readonly settle: (answer: Answer) => void;
  readonly fail: (lost: BodyLost) => void;
}

/** Who keeps threads and processes. */
export interface Keeper {
  /** It works for no one any more, and can be used again. */
  readonly free: (body: Isolation) => void;
  readonly gone: (body: Isolation) => void;
  /** A line that it wrote. */
  readonly said: (line: string) => void;
}

/** A thread or process in which bodies of one tool work, one at a time. */
export class Isolation {
  readonly isolated: Isolated;
  /** Resolves when it can work. Rejects with `BodyLost`. */
  readonly ready: Promise<void>;
  /** Resolves when it is gone. */
  readonly over: Promise<void>;
  readonly #keeper: Keeper;
  readonly #port: Port;
  #atWork: AtWork | null = null;
  #count = 0;
  #taskId: string | null = null;
  /** Why it ends or has ended; null: it can work. */
  #why: BodyLost | null = null;
  #watch: NodeJS.Timeout | undefined;
  #isQuiet = false;
  #isLeft = false;

  constructor(isolated: Isolated, keeper: Keeper) {
    this.isolated = isolated;
    this.#keeper = keeper;
    let begun: () => void = () => {};
    let over: () => void = () => {};
    this.over = new Promise<void>((resolve) => {
      over = resolve;
    });
    let failed: (lost: BodyLost) => void = () => {};
    this.ready = new Promise<void>((resolve, reject) => {
      begun = resolve;
      failed = reject;
    });
    const late = setTimeout(
      () => this.end(new BodyLost('tool_exited', `The ${isolated.isolation} of its body did not start.`)),
      START_MS,
    ).unref();
    const open = isolated.isolation === 'thread' ? openThread : openProcess;
    this.#port = open(isolated, {
      message: (message) => {
        if (message.type === 'ready') {
          clearTimeout(late);
          this.#taskId = message.taskId;
          begun();
        } else this.#heard(message);
      },
      ended: (lost) => {
        clearTimeout(late);
        clearInterval(this.#watch);
        const why = this.#why ?? lost;
        this.#why = why;
        if (!this.#isQuiet) {
          failed(why);
          this.#atWork?.fail(why);
        }
        this.#atWork = null;
        keeper.gone(this);
        over();
      },
      said: keeper.said,
    });
    this.ready.catch(() => undefined);
    this.#watch = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  /** Whether this process goes on for its sake. */
  hold(isHeld: boolean): void {
    this.#port.hold(isHeld);
  }

  /** Ends it, whatever it does. Its call fails with this. */
  end(why: BodyLost): void {
    this.#why ??= why;
    this.#kill();
  }

  /** Ends it. Its call is never answered: the one that waits for it must not take this for its outcome. */
  endQuietly(): void {
    this.#isQuiet = true;
    this.#kill();
  }

  /** The one that waits for its end gets there. */
  #kill(): void {
    this.#port.hold(true);
    this.#port.kill();
  }

  /** Has the body do one call. Rejects with what it threw, and with `BodyLost` where it did not come to its end. */
  async run(spec: Pick<ToolSpec, 'name' | 'maxOutputBytes'>, input: unknown, context: ToolContext): Promise<unknown> {
    const { module, export: name, memoryMb } = this.isolated;
    const { runId, callId, tenant, agent, idempotencyKey, signal } = context;
    if (this.#why !== null) throw this.#why;
    const call = ++this.#count;
    const answered = new Promise<Answer>((settle, fail) => {
      this.#atWork = { call, cpuBeforeMs: this.#cpuMs(), settle, fail };
    });
    const abort = (): void => {
      this.#port.send({ type: 'abort', call, reason: String(signal.reason) });
      const ended = new BodyLost('tool_exited', 'It was stopped, and did not end.');
      setTimeout(() => this.#atWork?.call === call && this.end(ended), GRACE_MS).unref();
    };
    try {
      this.#port.send({
        ...{ type: 'call', call, module, export: name, input, aheadMs: context.now() - Date.now() },
        context: { runId, callId, tenant, agent, idempotencyKey },
        maxBytes: spec.maxOutputBytes * SENT_PER_JSON + SENT_AT_LEAST,
        keepBytes: memoryMb * MIB * KEPT_PART,
      });
    } catch (cause) {
      this.#atWork = null;
      throw new Error(`its input cannot be sent: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    try {
      return outputOf(spec, await answered);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** No one waits for it any more. It is free when its call has ended. */
  leave(): void {
    this.#isLeft = true;
    this.#freeIfLeft();
  }

  #freeIfLeft(): void {
    if (!this.#isLeft || this.#atWork !== null || this.#why !== null || this.#isQuiet) return;
    this.#isLeft = false;
    this.#keeper.free(this);
  }

  #heard(message: Exclude<HostMessage, { type: 'ready' }>): void {
    const work = this.#atWork;
    if (work === null || work.call !== message.call) return;
    if (message.type === 'late') {
      this.end(new BodyLost('tool_failed', `${message.error} (thrown where no one waited for it)`));
      return;
    }
    this.#atWork = null;
    work.settle(message.answer);
    if (!message.again) this.end(new BodyLost('tool_exited', 'It is not used again.'));
    this.#freeIfLeft();
  }

  #cpuMs(): number {
    return this.#port.cpuMs(this.#taskId) ?? 0;
  }

  #look(): void {
    if (this.#atWork === null) return;
    const { isolation, memoryMb, cpuSeconds } = this.isolated;
    if (cpuSeconds !== null && this.#cpuMs() - this.#atWork.cpuBeforeMs > cpuSeconds * 1000)
      this.end(
        new BodyLost('tool_cpu', `The ${isolation} of its body computed for more than ${cpuSeconds} s, and was ended.`),
      );
    if ((this.#port.heldBytes() ?? 0) > memoryMb * MIB) this.end(tooMuch(this.isolated));
  }
}

function outputOf({ name, maxOutputBytes }: Pick<ToolSpec, 'name' | 'maxOutputBytes'>, answer: Answer): unknown {
  if ('output' in answer) return deserialize(answer.output);
  if (answer.tooLarge !== true) throw new Error(answer.error);
  throw new HoldfastError(
    'payload_too_large',
    `The output of ${name}: ${answer.error} Its bound is ${maxOutputBytes} as JSON.`,
  );
}
