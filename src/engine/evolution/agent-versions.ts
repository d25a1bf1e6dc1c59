import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import { agentPatch } from '../../core/evolution/patch.js';
import { hasFallen, isInShare } from '../../core/evolution/version.js';
import {
  findVersion,
  isApprovedInLog,
  measureOf,
  outcomesOf,
  patchOf,
  takeBack,
  type VersionRow,
} from '../../storage/evolution/agent-versions.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
import { patchedAgent } from './patched-agent.js';

type Agents = ReadonlyMap<string, RegisteredAgent>;

/** What says which version of its agent a run has. */
interface OfVersion {
  readonly tenant: string;
  readonly agent: string;
  readonly agent_hash: string;
}

const KEPT_MOST = 100;

/** Which definition of an agent runs have: that of the configuration, or a version that a patch made. */
export class AgentVersions {
  readonly #knex: Knex;
  readonly #agents: Agents;
  readonly #evolving: ReadonlySet<string>;
  /** By tenant and hash, of the present configuration. Null: its patch does not fit that. */
  readonly #made = new Map<string, RegisteredAgent | null>();

  /** Versions that were found approved. */
  readonly #approved = new Set<string>();

  constructor(knex: Knex, agents: Agents, evolving: ReadonlySet<string>) {
    this.#knex = knex;
    this.#agents = agents;
    this.#evolving = evolving;
  }

  /**
   * The definition that a new run gets, by its id. A live version whose measure has fallen is taken back here, before the run
   * could get it.
   */
  async agentFor(
    base: RegisteredAgent,
    run: { readonly id: string; readonly tenant: string },
  ): Promise<RegisteredAgent> {
    if (!this.#evolving.has(base.name)) return base;
    const live = await findVersion(this.#knex, { tenant: run.tenant, agent: base.name, status: 'live' });
    if (live === undefined || live.base_hash !== base.definitionHash || !isInShare(run.id, live.share)) return base;
    if (!(await this.#isApproved(live)) || (await this.#tookBack(live))) return base;
    return this.#versionOf(live, base) ?? base;
  }

  /** The agents as a run has them: its own is the version that the run was started with. */
  async agentsOf(run: OfVersion, db: Knex = this.#knex): Promise<Agents> {
    const base = this.#agents.get(run.agent);
    if (base === undefined || base.definitionHash === run.agent_hash) return this.#agents;
    const { tenant, agent, agent_hash: definition_hash } = run;
    const row = await findVersion(db, { tenant, agent, definition_hash });
    const made = row === undefined ? null : this.#versionOf(row, base);
    return made === null ? this.#agents : new Map([...this.#agents, [agent, made]]);
  }

  /** The same for several runs, by their ids. Those of one version are looked up once. */
  async agentsOfEach(runs: readonly (OfVersion & { readonly id: string })[], db: Knex): Promise<Map<string, Agents>> {
    const versions = new Map<string, Agents>();
    const found = new Map<string, Agents>();
    for (const run of runs) {
      const key = JSON.stringify([run.tenant, run.agent, run.agent_hash]);
      const agents = versions.get(key) ?? (await this.agentsOf(run, db));
      versions.set(key, agents);
      found.set(run.id, agents);
    }
    return found;
  }

  /** A row that says more than the log of its proposal was changed by no one who may decide. */
  async #isApproved(live: VersionRow): Promise<boolean> {
    const key = JSON.stringify([live.tenant, live.id, live.patch]);
    if (this.#approved.has(key)) return true;
    const isApproved = await isApprovedInLog(this.#knex, live);
    if (this.#approved.size >= KEPT_MOST) this.#approved.clear();
    if (isApproved) this.#approved.add(key);
    return isApproved;
  }

  async #tookBack(live: VersionRow): Promise<boolean> {
    const measure = measureOf(live);
    if (measure === null) return false;
    const { completed, ended } = await outcomesOf(this.#knex, live);
    if (!hasFallen(measure, completed, ended)) return false;
    const reason = `${completed} of ${ended} runs completed; at least ${measure.leastRate} of them must.`;
    const { tenant, agent, id } = live;
    await this.#knex.transaction((trx) => takeBack(trx, { tenant, agent, id }, null, reason));
    return true;
  }

  #versionOf(row: VersionRow, base: RegisteredAgent): RegisteredAgent | null {
    const key = JSON.stringify([row.tenant, row.definition_hash, base.definitionHash]);
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const made = madeOf(row, base);
    this.#made.set(key, made);
    const [oldest] = this.#made.keys();
    if (this.#made.size > KEPT_MOST && oldest !== undefined) this.#made.delete(oldest);
    return made;
  }
}

/** Null: the configuration has changed so that the patch does not fit it. Then runs go on with the configuration, as others do. */
function madeOf(row: VersionRow, base: RegisteredAgent): RegisteredAgent | null {
  try {
    const made = patchedAgent(base, agentPatch.parse(patchOf(row)), row.version);
    // A row that was changed in the database is none that people approved.
    return row.base_hash === base.definitionHash && made.definitionHash !== row.definition_hash ? null : made;
  } catch (error) {
    if (error instanceof HoldfastError) return null;
    throw error;
  }
}
