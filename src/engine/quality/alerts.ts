import { type AlertRule, alertsConfig } from '../../core/agents/alert-rules.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidConfig, invalidRequest } from '../../core/field-errors.js';
import {
  type AlertList,
  type AlertView,
  comparedOf,
  nextStanding,
  type SilenceAlert,
  silenceAlert as silenceShape,
  windowsOf,
} from '../../core/quality/alert.js';
import { DIFFICULTIES } from '../../core/tasks/task-definition.js';
import { legibleRows, viewOfRow } from '../../storage/database/legible-rows.js';
import {
  type AlertRow,
  dueAlerts,
  holdDueAlert,
  keepEvaluation,
  measureWindows,
  postponeAlert,
  readAlerts,
  setSilence,
} from '../../storage/quality/alerts.js';
import { levelOfFailure } from '../concurrency/work-off.js';
import type { EngineConfig } from '../engine-config.js';
import type { EngineContext } from '../engine-context.js';

/** The alert rules of a configuration. A rule for an agent or a difficulty that is not there would watch nothing. Throws `config_invalid`. */
export function alertsIn(
  config: Pick<EngineConfig, 'alerts'>,
  agents: ReadonlyMap<string, unknown>,
): readonly AlertRule[] {
  const { rules } = alertsConfig.parse(config.alerts ?? { rules: [] });
  const strays = rules.flatMap(({ only: { agent, difficulty } }, at) => [
    ...(agent === undefined || agents.has(agent)
      ? []
      : [{ pointer: `/alerts/rules/${at}/only/agent`, detail: 'there is no agent of this name' }]),
    ...(difficulty === undefined || DIFFICULTIES.some((one) => one === difficulty)
      ? []
      : [{ pointer: `/alerts/rules/${at}/only/difficulty`, detail: `expected one of ${DIFFICULTIES.join(', ')}` }]),
  ]);
  if (strays.length > 0) throw invalidConfig('The engine', strays);
  return rules;
}

/** Looks at the rules that are due. One transaction for each, under the lock of its row: one worker looks, however many try. */
export async function evaluateAlerts(context: EngineContext, isStopping: () => boolean): Promise<void> {
  const { alerts, log, stepContext } = context;
  for (const { tenant, name } of await dueAlerts(stepContext.knex, alerts)) {
    const rule = alerts.find((one) => one.tenant === tenant && one.name === name);
    if (rule === undefined || isStopping()) continue;
    await evaluate(context, rule).catch(async (error: unknown) => {
      log[levelOfFailure(error)](
        { component: 'worker', event: 'alert_not_evaluated', alert: name, error: String(error) },
        'an alert rule could not be evaluated; a worker tries again when it is due',
      );
      await postponeAlert(stepContext.knex, rule);
    });
  }
}

const evaluate = ({ stepContext }: EngineContext, rule: AlertRule): Promise<void> =>
  stepContext.knex.transaction(async (trx) => {
    const row = await holdDueAlert(trx, rule);
    if (row === undefined) return;
    const windows = await measureWindows(trx, rule, windowsOf(rule.when));
    const values = windows.map(({ tasks, value }) => (tasks < rule.minTasks ? null : value));
    const compared = comparedOf(rule.when, values);
    const standing = {
      ...{ state: row.state, sinceMs: row.since.getTime() },
      rightSinceMs: row.right_since?.getTime() ?? null,
    };
    const next = nextStanding(rule, standing, { compared, nowMs: row.now.getTime() });
    const [value = null] = values;
    await keepEvaluation(trx, row, rule, { ...next, compared, value, tasks: windows[0]?.tasks ?? 0 });
  });

function viewOf(rule: AlertRule, row: (AlertRow & { readonly now: Date }) | undefined): AlertView {
  const { name, about, measure, when } = rule;
  const until = row?.silenced_until ?? null;
  const isSilent = row !== undefined && until !== null && until > row.now;
  const silence = isSilent
    ? { until: until.toISOString(), actor: row.silenced_by ?? '', reason: row.silence_reason ?? '' }
    : null;
  return {
    ...{ name, about, measure, type: when.type, state: row?.state ?? 'ok' },
    since: row === undefined || row.evaluated_at === null ? null : row.since.toISOString(),
    ...{ value: row?.value ?? null, compared: row?.compared ?? null, tasks: row?.tasks ?? null },
    ...{ above: when.above ?? null, below: when.below ?? null, clear: when.clear ?? null },
    ...{ evaluatedAt: row?.evaluated_at?.toISOString() ?? null, silence },
  };
}

const rulesOf = ({ alerts }: EngineContext, { tenant }: Caller): readonly AlertRule[] =>
  alerts.filter((rule) => rule.tenant === tenant);

function shownAlert(rule: AlertRule, rows: Awaited<ReturnType<typeof readAlerts>>): AlertView {
  const row = rows.get(rule.name);
  return row === undefined
    ? viewOf(rule, row)
    : viewOfRow(row, { table: 'alerts', row: rule.name }, () => viewOf(rule, row));
}

async function listAlerts(context: EngineContext, caller: Caller): Promise<AlertList> {
  const rows = await readAlerts(context.stepContext.knex, caller.tenant);
  const { items, unreadable } = legibleRows(
    rulesOf(context, caller),
    ({ name }) => name,
    (rule) => shownAlert(rule, rows),
  );
  return { items: [...items], ...(unreadable && { unreadable: [...unreadable] }) };
}

async function silenceAlert(
  context: EngineContext,
  name: string,
  request: SilenceAlert,
  caller: Caller,
): Promise<AlertView> {
  const parsed = silenceShape.safeParse(request);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const rule = rulesOf(context, caller).find((one) => one.name === name);
  if (rule === undefined)
    throw new HoldfastError('alert_unknown', `The configuration has no alert rule ${JSON.stringify(name)}.`);
  const { knex } = context.stepContext;
  await setSilence(knex, rule, { ...parsed.data, actor: caller.actor });
  return shownAlert(rule, await readAlerts(knex, caller.tenant));
}

export const ALERT_OPERATIONS = {
  /** The alert rules of the configuration, with their states. */
  listAlerts,
  /** Has no event tell of an alert for a while. Repeating it is no error. Throws `alert_unknown`, `invalid_request`. */
  silenceAlert,
};
