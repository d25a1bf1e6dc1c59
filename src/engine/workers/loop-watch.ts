import { type CodeSpan, spansSince, watchSpans } from '../../../steps/calls/late-throws.js';
import type { Check } from '../../core/ops/health.js';
import type { EngineLog } from '../../core/ops/log-record.js';
import type { Metrics } from '../../metrics/metrics.js';

const LOOK_EVERY_MS = 250;
/** Requests, heartbeats and deadlines of the process come later by this. */
const HELD_MS = 1000;
/** For so long health says it. */
const TOLD_FOR_MS = 60_000;
const NAMES_MAX = 10;

/** Watches how late the event loop of the process is, and says whose code held it. */
export class LoopWatch {
  readonly #log: EngineLog;
  readonly #metrics: Metrics;
  readonly #timer: NodeJS.Timeout;
  readonly #unwatch = watchSpans();
  #lookedAt = performance.now();
  #cpu = process.cpuUsage();
  #held: { readonly atMs: number; readonly detail: string } | null = null;

  constructor(log: EngineLog, metrics: Metrics) {
    this.#log = log;
    this.#metrics = metrics;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  /** `warn`: within the last minute nothing else of the process ran for a second or longer. */
  check(): Check {
    if (this.#held === null || performance.now() - this.#held.atMs > TOLD_FOR_MS) return { status: 'pass' };
    return { status: 'warn', detail: this.#held.detail };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#unwatch();
  }

  #look(): void {
    const [from, now] = [this.#lookedAt, performance.now()];
    const { user, system } = process.cpuUsage(this.#cpu);
    this.#lookedAt = now;
    this.#cpu = process.cpuUsage();
    const spans = spansSince(from);
    const heldMs = Math.round(now - from - LOOK_EVERY_MS);
    if (heldMs >= HELD_MS) this.#tell(heldMs, Math.round((user + system) / 1000), spans);
  }

  #tell(heldMs: number, cpuMs: number, spans: readonly CodeSpan[]): void {
    const sure = spans.find((span) => span.heldMs > heldMs / 2) ?? (spans.length === 1 ? spans[0] : undefined);
    for (const span of spans) span.heldMs = 0;
    const by = sure === undefined ? spans : [sure];
    const among = by.slice(0, NAMES_MAX).map(({ code }) => code);
    const names = [...new Set(among.map(({ what }) => what))].join(', ');
    const who = among.length === 0 ? '' : sure === undefined ? `; at work were ${names}` : ` by ${names}`;
    const [first] = among;
    const detail = `the process ran nothing else for ${heldMs} ms${who}`;
    this.#held = { atMs: performance.now(), detail };
    this.#metrics.loopHeld(sure?.code.tool ?? 'none', heldMs / 1000);
    this.#log.warn(
      {
        ...{ component: 'process', event: 'loop_held', heldMs, cpuMs, among },
        ...(sure === undefined || first === undefined
          ? {}
          : { runId: first.runId, tool: first.tool, callId: first.callId }),
      },
      detail,
    );
  }
}
