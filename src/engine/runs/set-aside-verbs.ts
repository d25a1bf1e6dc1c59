import { type LiftedWork, type LiftWork, SET_ASIDE_MOST, type SetAsideList } from '../../core/runs/set-aside.js';
import { forgetDeaths, workSetAside } from '../../storage/queue/work-notes.js';
import type { EngineContext } from '../engine-context.js';

export async function listSetAside({ stepContext: { knex, crashLimit } }: EngineContext): Promise<SetAsideList> {
  const found = await workSetAside(knex, { crashLimit, tenant: null, limit: SET_ASIDE_MOST });
  return { items: found.map(({ diedAt, ...rest }) => ({ ...rest, diedAt: diedAt.toISOString() })) };
}

export const liftWork = async ({ stepContext }: EngineContext, of: LiftWork): Promise<LiftedWork> => ({
  forgotten: await forgetDeaths(stepContext.knex, of),
});
