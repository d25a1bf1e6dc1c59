import { z } from 'zod';

/** Of how many a list tells. */
export const SET_ASIDE_MOST = 100;

/** Work beside the runs that is not begun any more, since too many processes died with it. */
export const setAsideView = z
  .object({
    tenant: z.string().describe('Whose work it is; `default` also for that of all tenants.'),
    name: z.string(),
    deaths: z.int().describe('How many processes died with it.'),
    diedAt: z.iso.datetime().describe('When the last of these had begun it.'),
  })
  .meta({ id: 'SetAside' });

export const setAsideList = z
  .object({ items: z.array(setAsideView).max(SET_ASIDE_MOST).describe('The newest first.') })
  .meta({ id: 'SetAsideList' });
export type SetAsideList = z.infer<typeof setAsideList>;

export const liftWork = z
  .strictObject({ name: z.string().min(1).max(300), tenant: z.string().min(1).max(200).default('default') })
  .meta({ id: 'LiftWork' });
export type LiftWork = z.infer<typeof liftWork>;

export const liftedWork = z
  .object({ forgotten: z.int().describe('How many deaths were forgotten; 0: there was none.') })
  .meta({ id: 'LiftedWork' });
export type LiftedWork = z.infer<typeof liftedWork>;
