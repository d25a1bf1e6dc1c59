/** Whose code is at work: a tool of a call, a callback of an agent, a hook. */
export interface CodeOfRun {
  /** How a reader names it: `the tool pay`. */
  readonly what: string;
  readonly runId: string;
  readonly tool: string | null;
  readonly callId: string | null;
}

/** Code while it works, and for a moment afterwards. */
export interface CodeSpan {
  readonly code: CodeOfRun;
  /** How long its beginning kept everything else from running. */
  heldMs: number;
  /** By `performance.now()`; null: it works. */
  endedAtMs: number | null;
}

const spans = new Set<CodeSpan>();
let watchers = 0;

/** Says that code begins to work. */
export function beginSpan(code: CodeOfRun): CodeSpan {
  const span: CodeSpan = { code, heldMs: 0, endedAtMs: null };
  spans.add(span);
  return span;
}

/** Says that it has ended. Where nobody watches, nothing of it is kept. */
export function endSpan(span: CodeSpan): void {
  span.endedAtMs = performance.now();
  if (watchers === 0) spans.delete(span);
}

/** Keeps what has ended until the watcher has asked for it. Gives how to stop watching. */
export function watchSpans(): () => void {
  watchers++;
  return () => {
    watchers--;
    if (watchers === 0) forgetEnded(Number.POSITIVE_INFINITY);
  };
}

/** The code that has worked since then, by `performance.now()`. What had ended before is forgotten. */
export function spansSince(fromMs: number): readonly CodeSpan[] {
  forgetEnded(fromMs);
  return [...spans];
}

function forgetEnded(beforeMs: number): void {
  for (const span of spans) if (span.endedAtMs !== null && span.endedAtMs < beforeMs) spans.delete(span);
}
