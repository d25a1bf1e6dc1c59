import type { InstallationRole } from '../../core/caller.js';

/**
 * What an operation concerns. `tenant`: what is of the tenant of the token, and nothing else. `installation`: all tenants, or the processes
 * that serve them, with the role in the installation that it takes. `shared`: what every token reads alike. `open`: it takes no token.
 */
export type Scope = 'tenant' | 'shared' | 'open' | { readonly installation: InstallationRole };

const reads = { installation: 'viewer' } as const;
const operates = { installation: 'operator' } as const;

/** Each operation of the API with its scope. A route whose operation is not in this list does not compile. */
export const SCOPES = {
  ...{ startRun: 'tenant', listRuns: 'tenant', getRun: 'tenant', getTrajectory: 'tenant', cancelRun: 'tenant' },
  ...{ deleteRun: 'tenant', forkRun: 'tenant', retryRun: 'tenant', replayRun: 'tenant' },
  ...{ submitTask: 'tenant', submitTasks: 'tenant', listTasks: 'tenant', getTask: 'tenant', cancelTask: 'tenant' },
  ...{ requeueTask: 'tenant', verifyRun: 'tenant', verifyRuns: 'tenant', repairRun: 'tenant', stateAt: 'tenant' },
  ...{ diffRuns: 'tenant', eraseRun: 'tenant', eraseSubject: 'tenant', getSubjectErasure: 'tenant' },
  ...{ previewRetention: 'tenant', askForRetention: 'tenant', exportProof: 'tenant' },
  ...{ listEvents: 'tenant', listCharges: 'tenant', listSpend: 'tenant', startExport: 'tenant', listExports: 'tenant' },
  ...{ getExport: 'tenant', cancelExport: 'tenant', listTrajectories: 'tenant', readTrajectory: 'tenant' },
  ...{ rewardRun: 'tenant', listRewards: 'tenant', listInterruptions: 'tenant', getInterruption: 'tenant' },
  ...{ approve: 'tenant', reject: 'tenant', answer: 'tenant', listStandingDecisions: 'tenant' },
  ...{ revokeStandingDecision: 'tenant', listSessions: 'tenant', getSession: 'tenant', listSessionItems: 'tenant' },
  ...{ deleteSession: 'tenant', emitEvent: 'tenant', listSystemEvents: 'tenant', getStats: 'tenant' },
  // Leaves and signatures say nothing of a tenant, and prove the more the more people have them.
  ...{ getLog: 'shared', getConsistency: 'shared', listLogEntries: 'shared' },
  ...{ listAgents: 'shared', getHealth: 'shared', getOpenApi: 'shared' },
  ...{ checkpointNow: operates, verifyLog: reads, stopWorker: operates, listWorkers: reads, getWorker: reads },
  ...{ listSetAside: reads, liftWork: operates },
  ...{ getMetrics: reads, previewAllRetention: reads, askForAllRetention: operates },
  ...{ livez: 'open', readyz: 'open' },
} as const satisfies { readonly [operation: string]: Scope };

export type OperationId = keyof typeof SCOPES;

export const scopeOf = (operation: OperationId): Scope => SCOPES[operation];
