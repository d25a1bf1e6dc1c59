import { TOLD_PERCENTS } from '../../core/log/system-event.js';

const usd = (nanos: string): string => `trim_scale(${nanos}::numeric * 0.000000001)::text`;

/**
 * A part of the statement that takes from budgets, under the locks of their rows: tells which of them comes to a share of its limit by
 * this, or has no room for it, once for each share and limit. It has the CTEs `held`, `wanted` and `verdict`.
 */
export const thresholdsTold = (runId: string): string => `
  insert into holdfast.system_events (tenant, kind, key, run_id, data)
  select w.tenant, 'cost.threshold_reached', 'cost:' || h.id || ':' || h.limit_nano_usd || ':' || s.percent, ${runId},
         json_build_object('budget', h.id, 'scope', w.scope, 'name', w.name, 'day', h.day, 'percent', s.percent,
           'currentUsd', ${usd('(h.nano_usd + case when v.room then v.amount else 0 end)')},
           'thresholdUsd', ${usd('div(h.limit_nano_usd::numeric * s.percent, 100)')},
           'limitUsd', ${usd('h.limit_nano_usd')})::text
    from held h join wanted w on w.id = h.id, verdict v, (values ${TOLD_PERCENTS.map((percent) => `(${percent})`).join(', ')}) s(percent)
   where v.found and not v.had and case
         when v.room then h.nano_usd::numeric * 100 < h.limit_nano_usd::numeric * s.percent
                      and (h.nano_usd::numeric + v.amount) * 100 >= h.limit_nano_usd::numeric * s.percent
         else s.percent = 100 and h.nano_usd::numeric + v.amount > h.limit_nano_usd end
  on conflict do nothing`;
