import type { Charge } from '../src/core/budgets/charge.js';
import type { EventData } from '../src/core/log/event.js';
import type { SegmentContext } from './segment-context.js';

interface Ended {
  /** Name of the durable step that ended. */
  readonly step: string;
  /** Key of the event that the end follows from. */
  readonly from: string;
}

/** Logs what a model answered, with the time that this process took for it. */
export function addAnswer(
  scope: SegmentContext,
  data: EventData<'model.responded'>,
  { step, from, charges }: Ended & { readonly charges: readonly Charge[] },
): void {
  const tookMs = takenBy(scope, step);
  scope.log.add('model.responded', data, from, charges, tookMs);
  const { turn, model, usage } = data;
  tell(scope, { step: turn, action: { type: 'model', model }, reward: null, usage }, tookMs);
}

/** Logs how a call ended, with the time that this process took for it. Returns the key of the event. */
export function addOutcome(scope: SegmentContext, data: EventData<'call.finished'>, { step, from }: Ended): string {
  const tookMs = takenBy(scope, step);
  const key = scope.log.add('call.finished', data, from, [], tookMs);
  const { tool, outcome, step: note } = data;
  const action = { type: 'tool' as const, tool, outcome: outcome.type };
  tell(scope, { step: scope.turns, action, reward: note?.reward ?? null, usage: null }, tookMs);
  return key;
}

function takenBy({ took }: SegmentContext, step: string): number | undefined {
  const ms = took.get(step);
  took.delete(step);
  return ms;
}

type Told = Omit<Parameters<NonNullable<SegmentContext['ctx']['logStep']>>[0], 'runId' | 'taskId' | 'durationMs'>;

/** A step whose result was recorded before is not told a second time. */
function tell({ ctx, run }: SegmentContext, told: Told, durationMs: number | undefined): void {
  if (durationMs === undefined) return;
  ctx.logStep?.({ runId: run.id, taskId: run.task?.id ?? null, ...told, durationMs });
}
