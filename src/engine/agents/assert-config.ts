import { z } from 'zod';
import { alertsConfig } from '../../core/agents/alert-rules.js';
import { evolutionConfig } from '../../core/agents/evolution-terms.js';
import { webhooksConfig } from '../../core/agents/webhook.js';
import { ceilings, hostFolder } from '../../core/containers/ceilings.js';
import { imagePolicy } from '../../core/containers/image-policy.js';
import { workerLabels } from '../../core/containers/worker-offer.js';
import { fieldErrorsOf, invalidConfig } from '../../core/field-errors.js';
import { LONGEST_MS } from '../../core/interruptions/wait.js';
import { isObject, isRecord, nameText } from '../../core/json.js';
import { ollamaAddress } from '../../core/models/ollama-address.js';
import { stallsConfig, workerRole } from '../../core/queue/worker.js';
import { retentionConfig } from '../../core/retention/retention.js';
import { database } from '../../core/setting.js';
import { schedulingConfig } from '../../core/tasks/scheduling.js';
import { taskRetries } from '../../core/tasks/task-retries.js';
import type { EngineConfig } from '../engine-config.js';
import { providerProblems } from './model-providers.js';

const text = z.string().nullish();
const aFunction = z.custom((value) => typeof value === 'function', 'is no function');
/** A text, or a place that a key is read from. */
const key = z.union([z.string(), z.custom(isRecord, 'expected a text or a secret')]).nullish();
/** Each is checked where it is read. */
const judgedLater = z.unknown().optional();

const LEVELS = ['debug', 'info', 'warn', 'error'];
const isLog = (value: unknown): boolean =>
  isRecord(value) && LEVELS.every((level) => typeof value[level] === 'function');

const settings = z.strictObject({
  databaseUrl: database.schema.nullish(),
  dataDir: z.string().optional(),
  workerId: text,
  concurrency: z.int().min(1).optional(),
  turnsPerSegment: z.int().min(1).optional(),
  crashLimit: z.int().min(1).optional(),
  startWaitMs: z.int().min(0).max(3_600_000).optional(),
  stillAfterMs: z.int().min(5_000).max(3_600_000).optional(),
  role: workerRole.optional(),
  retention: retentionConfig.optional(),
  scheduling: schedulingConfig.optional(),
  retries: taskRetries.optional(),
  stalls: stallsConfig.optional(),
  alerts: alertsConfig.optional(),
  webhooks: webhooksConfig.optional(),
  hostFolders: z.array(hostFolder).max(100).optional(),
  ceilings: ceilings.optional(),
  imagePolicy: imagePolicy.optional(),
  evolution: evolutionConfig.optional(),
  bodiesApart: z.int().min(1).max(1000).optional(),
  rewards: z.record(nameText, aFunction).optional(),
  separateRequester: z.boolean().optional(),
  logSteps: z.boolean().optional(),
  forkModels: z.array(nameText).optional(),
  approvalTimeoutMs: z.int().min(0).max(LONGEST_MS).nullish(),
  providers: z.custom(isObject, 'expected an object').optional(),
  ...{ openaiApiKey: key, openaiBaseUrl: text, ollamaApiKey: text, ollamaHost: text },
  ...{ cassettesDir: z.string().optional(), recordTo: text, exportDir: text, artifacts: text },
  ...{ exportBuckets: z.array(z.string()).nullish(), exportHub: z.array(z.string()).nullish() },
  ...{ dockerHost: text, dockerCertPath: text, dockerPatienceMs: z.number().min(0).optional() },
  ...{ signingKeyFile: text, checkpoints: text },
  log: z.custom(isLog, 'expected a log with debug, info, warn and error').optional(),
  ...{ onFatal: aFunction.optional(), onStopAsked: aFunction.optional() },
  agents: z.custom(Array.isArray, 'expected a list of agents'),
  ...{ routers: judgedLater, tenants: judgedLater, images: judgedLater, models: judgedLater },
  ...{ prices: judgedLater, unknownPrice: judgedLater, budgets: judgedLater, evidence: judgedLater },
  ...{ memorySpaces: judgedLater, objectStore: judgedLater, hub: judgedLater },
  workerLabels: workerLabels.nullish(),
  workerContainers: z.int().min(0).max(10_000).nullish(),
  workerCpuCores: z.number().positive().max(100_000).nullish(),
  workerMemoryMb: z.int().min(16).max(16_777_216).nullish(),
} satisfies { readonly [Name in keyof Required<EngineConfig>]: z.ZodType });

/**
 * Refuses settings that are not known, numbers that nothing could work with, addresses that are none, and providers that cannot work.
 * Throws `config_invalid`, which names every wrong field.
 */
export function assertConfig(config: EngineConfig): void {
  const { error } = settings.safeParse(config);
  const fields = [
    ...(error === undefined ? [] : fieldErrorsOf(error)),
    ...(isObject(config.providers) ? providerProblems(config.providers, config.role) : []),
  ];
  if (fields.length > 0) throw invalidConfig('The engine', fields);
  if (config.ollamaHost) ollamaAddress(config.ollamaHost);
}
