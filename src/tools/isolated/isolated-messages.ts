/** What a pool and the thread or process of a body say to each other. */

/** One call, as its body gets it. */
export interface CallMessage {
  readonly type: 'call';
  readonly call: number;
  /** Address of the module, and which of its exports is the body. */
  readonly module: string;
  readonly export: string;
  readonly input: unknown;
  readonly context: {
    readonly runId: string;
    readonly callId: string;
    readonly tenant: string;
    readonly agent: string;
    readonly idempotencyKey: string;
  };
  /** Milliseconds that the time of the call is ahead of the machine's clock. */
  readonly aheadMs: number;
  /** An output that takes more as it is sent is refused. */
  readonly maxBytes: number;
  /** After a call that leaves more in memory the thread or process is not used again. */
  readonly keepBytes: number;
}

/** The signal of the call at work fires. */
export interface AbortMessage {
  readonly type: 'abort';
  readonly call: number;
  readonly reason: string;
}

export type Answer =
  /** The output as `serialize` of `node:v8` writes it. */
  { readonly output: Uint8Array } | { readonly error: string; readonly tooLarge?: boolean };

export type HostMessage =
  /** `taskId`: the thread as the kernel of Linux counts it; null elsewhere. */
  | { readonly type: 'ready'; readonly taskId: string | null }
  | { readonly type: 'answer'; readonly call: number; readonly answer: Answer; readonly again: boolean }
  /** The body of the call threw where no one waited for it. */
  | { readonly type: 'late'; readonly call: number; readonly error: string };

/** What a thread or process said to the pool; null: a module of the body said it, to someone else or by mistake. */
export function hostMessageOf(said: unknown): HostMessage | null {
  if (!isObject(said)) return null;
  const { type, call, taskId, answer, again, error } = said;
  if (type === 'ready') return taskId === null || typeof taskId === 'string' ? { type, taskId } : null;
  if (typeof call !== 'number') return null;
  if (type === 'late') return typeof error === 'string' ? { type, call, error } : null;
  if (type !== 'answer' || typeof again !== 'boolean' || !isAnswer(answer)) return null;
  return { type, call, answer, again };
}

const isAnswer = (value: unknown): value is Answer =>
  isObject(value) && (value['output'] instanceof Uint8Array || typeof value['error'] === 'string');

const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === 'object' && value !== null;
