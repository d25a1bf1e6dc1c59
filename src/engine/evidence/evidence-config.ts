import { join } from 'node:path';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { bucketPlaceOf, isAddressText, PLACE_EXPECTED } from '../../core/exports/bucket-place.js';
import { fieldErrorsOf, invalidConfig } from '../../core/field-errors.js';
import { shownAddress } from '../../core/secrets/secret-patterns.js';
import { isSecret, type Secret } from '../../models/secrets/secret.js';
import { CheckpointObjects } from '../../object-store/checkpoint-objects.js';
import type { Database } from '../../storage/database/database.js';
import { type EngineConfig, withDefaults } from '../engine-config.js';
import { openCheckpointStore } from '../exports/open-object-store.js';
import { Anchor } from './anchor.js';
import { type CheckpointPlace, inBucket, inFile, standardOutput } from './checkpoint-place.js';
import { openLogKeys } from './log-keys.js';

const DEFAULT_INTERVAL_MS = 5000;

const shape = z.strictObject({
  signingKey: z.custom<Secret>(isSecret, 'expected a secret, such as secret.file(path)').optional(),
  publicKeys: z.array(z.string()).optional(),
  checkpoints: z.string().min(1).optional(),
  intervalMs: z.int().min(100).max(3_600_000).optional(),
});

/** Throws `config_invalid`, `secret_unreadable`. */
export async function openAnchor(config: EngineConfig, database: Database, now: () => number): Promise<Anchor> {
  const { data, error } = z.object({ evidence: shape.prefault({}) }).safeParse({ evidence: config.evidence });
  if (data === undefined) throw invalidConfig('The engine', fieldErrorsOf(error));
  const { signingKey, publicKeys = [], checkpoints, intervalMs = DEFAULT_INTERVAL_MS } = data.evidence;
  const dataDir = config.dataDir ?? '.holdfast';
  const readKeys = () =>
    openLogKeys({
      keyFile: config.signingKeyFile ?? null,
      key: signingKey ?? null,
      publicKeys,
      madeIn: database.kind === 'pglite' ? dataDir : null,
    });
  const keys = await readKeys();
  const place = placeAt(config.checkpoints ?? checkpoints ?? join(dataDir, 'checkpoints.jsonl'), config);
  return new Anchor({ knex: database.knex, keys, readKeys, place, intervalMs, now, log: withDefaults(config).log });
}

/** Throws `config_invalid`. */
function placeAt(where: string, config: EngineConfig): CheckpointPlace {
  if (where === '-') return standardOutput();
  if (!isAddressText(where)) return inFile(where);
  const place = bucketPlaceOf(where);
  if (place === null)
    throw new HoldfastError(
      'config_invalid',
      `Checkpoints cannot be written to ${JSON.stringify(shownAddress(where))}: ${PLACE_EXPECTED}.`,
    );
  return inBucket(where, new CheckpointObjects(openCheckpointStore(config), place));
}
