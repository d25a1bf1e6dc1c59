import type { Knex } from 'knex';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import {
  type AgentVersion,
  type EvolutionView,
  type RollbackRequest,
  type RolloutRequest,
  rollbackRequest,
  rolloutRequest,
} from '../../core/evolution/version.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import type { Page } from '../../core/page.js';
import { legibleRows } from '../../storage/database/legible-rows.js';
import {
  allVersions,
  findVersion,
  outcomesOf,
  setShare,
  takeBack,
  type VersionFilter,
  type VersionRow,
  versionsOf,
  versionViewOf,
} from '../../storage/evolution/agent-versions.js';
import { requestersOf } from '../../storage/log/read-events.js';
import { agentNamed, type EngineContext } from '../engine-context.js';

async function getEvolution(context: EngineContext, name: string, { tenant }: Caller): Promise<EvolutionView> {
  const { definitionHash } = agentNamed(context, name);
  const { knex } = context.stepContext;
  const { items, unreadable } = await viewsOf(knex, await versionsOf(knex, tenant, name));
  const unread = unreadable === undefined ? {} : { unreadable: [...unreadable] };
  return { agent: name, definitionHash, versions: [...items], ...unread };
}

async function viewsOf(knex: Knex, rows: readonly VersionRow[]) {
  const counted = [];
  for (const row of rows) counted.push({ row, id: row.id, outcomes: await outcomesOf(knex, row) });
  return legibleRows(
    counted,
    ({ id }) => id,
    ({ row, outcomes }) => versionViewOf(row, outcomes),
  );
}

async function listVersions(
  { stepContext: { knex } }: EngineContext,
  filter: Omit<VersionFilter, 'tenant'>,
  { tenant }: Caller,
): Promise<Page<AgentVersion>> {
  const { items, nextCursor } = await allVersions(knex, { tenant, ...filter });
  return { ...(await viewsOf(knex, items)), nextCursor };
}

async function rolloutAgent(
  context: EngineContext,
  name: string,
  request: RolloutRequest,
  caller: Caller,
): Promise<EvolutionView> {
  const parsed = rolloutRequest.safeParse(request);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  agentNamed(context, name);
  const { tenant, actor } = caller;
  const { share } = parsed.data;
  await context.stepContext.knex.transaction(async (trx) => {
    const live = await findVersion(trx, { tenant, agent: name, status: 'live' });
    if (live === undefined) throw noneLive(name);
    if (share > live.share && (await requestersOf(trx, live.id)).includes(actor))
      throw new HoldfastError(
        'requester_may_not_approve',
        `${actor} proposed the patch of ${name}; someone else raises its share.`,
      );
    if (!(await setShare(trx, live, share, actor))) throw noneLive(name);
  });
  return getEvolution(context, name, caller);
}

async function rollbackAgent(
  context: EngineContext,
  name: string,
  request: RollbackRequest,
  caller: Caller,
): Promise<EvolutionView> {
  const parsed = rollbackRequest.safeParse(request);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  agentNamed(context, name);
  const { tenant, actor } = caller;
  const { reason } = parsed.data;
  const { knex } = context.stepContext;
  const wasLive = await knex.transaction((trx) => takeBack(trx, { tenant, agent: name }, actor, reason));
  if (!wasLive) throw noneLive(name);
  return getEvolution(context, name, caller);
}

const noneLive = (name: string): HoldfastError =>
  new HoldfastError(
    'agent_version_none',
    `No version of ${name} is live: its runs have the definition of the configuration.`,
  );

/** What clients ask about versions that patches made. */
export const EVOLUTION_OPERATIONS = {
  /** Versions of all agents that patches made, newest first. */
  listVersions,
  /** Versions of an agent that patches made, newest first. Throws `agent_unknown`. */
  getEvolution,
  /** Gives the live version to another share of new runs. Throws `agent_unknown`, `agent_version_none`, `invalid_request`, `requester_may_not_approve`. */
  rolloutAgent,
  /** Takes the live version back: new runs have the definition of the configuration. Throws `agent_unknown`, `agent_version_none`, `invalid_request`. */
  rollbackAgent,
};
