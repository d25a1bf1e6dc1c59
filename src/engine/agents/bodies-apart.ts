import type { EngineLog } from '../../core/ops/log-record.js';
import { isolatedPool } from '../../tools/isolated/isolated-pool.js';
import type { EngineConfig } from '../engine-config.js';

/**
 * Threads and processes of tools belong to the engine from now on: what they write goes into its log. Gives how to end them.
 */
export const keepBodies = ({ bodiesApart }: Pick<EngineConfig, 'bodiesApart'>, log: EngineLog): (() => Promise<void>) =>
  isolatedPool.keepTo({
    atMost: bodiesApart,
    said: (tool, line) => log.info({ component: 'tool', event: 'tool_said', tool }, line),
  });
