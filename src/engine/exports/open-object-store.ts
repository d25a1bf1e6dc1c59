import { join, resolve } from 'node:path';
import type { ExportBuckets, ExportRepositories } from '../../../steps/context.js';
import { environmentVariable } from '../../config.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { bucketPlaceOf, exportRootsOf, isAddressText, OBJECT_STORE_KEYS } from '../../core/exports/bucket-place.js';
import { HUB_KEYS, hubRootsOf } from '../../core/exports/hub-place.js';
import { shownAddress } from '../../core/secrets/secret-patterns.js';
import { webAddress } from '../../core/setting.js';
import { HeldSecret } from '../../models/secrets/held-secret.js';
import { literalSecret, type Secret } from '../../models/secrets/secret.js';
import { type ArtifactStore, artifactBucket, artifactFolder } from '../../object-store/artifact-store.js';
import { Hub } from '../../object-store/hub.js';
import { type CredentialSource, ObjectStore } from '../../object-store/object-store.js';
import {
  DEFAULT_DATA_DIR,
  type EngineConfig,
  type HubConfig,
  type ObjectStoreConfig,
  type ObjectStoreKey,
} from '../engine-config.js';
import { secret } from '../secrets/secret.js';

const DEFAULT_REGION = 'us-east-1';
const EXPORT_TIMES = { idleMs: 30_000, patienceMs: 120_000 };
const DEFAULT_HUB = 'https://huggingface.co';
/** A Hub counts requests in windows of five minutes. */
const HUB_TIMES = { idleMs: 60_000, patienceMs: 360_000 };
/** What fails is done again at the next interval. */
const CHECKPOINT_TIMES = { idleMs: 5000, patienceMs: 1000 };

/** Where this engine exports to in an object store; null: nowhere. Throws `config_invalid`. */
export function openBuckets(config: EngineConfig): ExportBuckets | null {
  const { exportBuckets: roots } = config;
  if (!roots || roots.length === 0) return null;
  const wrong = roots.find((root) => exportRootsOf(root)?.length !== 1);
  if (wrong !== undefined)
    throw new HoldfastError(
      'config_invalid',
      `${JSON.stringify(shownAddress(wrong))} is no place to export to: expected s3://bucket/prefix.`,
    );
  // Who only serves needs no key: workers export.
  return { store: config.role === 'api' ? null : openObjectStore(config.objectStore, EXPORT_TIMES), roots };
}

/** Where this engine exports to on a Hub; null: nowhere. Throws `config_invalid`. */
export function openRepositories(config: EngineConfig): ExportRepositories | null {
  const { exportHub: roots } = config;
  if (!roots || roots.length === 0) return null;
  const wrong = roots.find((root) => hubRootsOf(root)?.length !== 1);
  if (wrong !== undefined)
    throw new HoldfastError(
      'config_invalid',
      `${JSON.stringify(shownAddress(wrong))} is no place on a Hub to export to: expected hf://datasets/owner, or a repository or folder below it.`,
    );
  return { hub: config.role === 'api' ? null : openHub(config.hub), roots };
}

/** Throws `config_invalid`: no token is named, or no address. */
function openHub({ endpoint, token }: HubConfig = {}): Hub {
  const address = endpoint ?? DEFAULT_HUB;
  // It may hold a password.
  if (!webAddress.schema.safeParse(address).success)
    throw new HoldfastError('config_invalid', `The endpoint of the Hub is none: expected ${webAddress.expected}.`);
  const held = heldSecret(token ?? ofEnvironment(HUB_KEYS.token.variable));
  if (held === null)
    throw new HoldfastError(
      'config_invalid',
      `A place on a Hub is named, and no token: expected ${HUB_KEYS.token.variable}, or a file with it.`,
    );
  const source = { read: () => held.value(), renewed: (refused: string) => held.renewed(refused) };
  return new Hub({ endpoint: address, token: source, ...HUB_TIMES });
}

/** Where artifacts of tasks are. Who serves them needs the key too. Throws `config_invalid`. */
export function openArtifacts({ artifacts, dataDir, objectStore }: EngineConfig): ArtifactStore {
  const place = artifacts ?? join(dataDir ?? DEFAULT_DATA_DIR, 'artifacts');
  if (!isAddressText(place)) return artifactFolder(resolve(place));
  const bucket = bucketPlaceOf(place);
  if (bucket !== null) return artifactBucket(openObjectStore(objectStore, EXPORT_TIMES), bucket);
  throw new HoldfastError(
    'config_invalid',
    `${JSON.stringify(shownAddress(place))} is no place for artifacts: expected a directory, or s3://bucket/prefix.`,
  );
}

/** The store of checkpoints. Throws `config_invalid`. */
export const openCheckpointStore = ({ objectStore }: EngineConfig): ObjectStore =>
  openObjectStore(objectStore, CHECKPOINT_TIMES);

/** Throws `config_invalid`: no key is named, or no address. What it is made of is read when the first request needs it. */
function openObjectStore(
  { endpoint = null, region = DEFAULT_REGION, ...keys }: ObjectStoreConfig = {},
  times: { readonly idleMs: number; readonly patienceMs: number },
): ObjectStore {
  // It may hold a password.
  if (endpoint !== null && !webAddress.schema.safeParse(endpoint).success)
    throw new HoldfastError(
      'config_invalid',
      `The endpoint of the object store is none: expected ${webAddress.expected}.`,
    );
  return new ObjectStore({ endpoint, region, credentials: credentialsOf(keys), ...times });
}

function credentialsOf(keys: Omit<ObjectStoreConfig, 'endpoint' | 'region'>): CredentialSource {
  const held = (part: ObjectStoreKey): HeldSecret | null =>
    heldSecret(keys[part] ?? ofEnvironment(OBJECT_STORE_KEYS[part].variable));
  const [id, key, token] = [held('accessKeyId'), held('secretAccessKey'), held('sessionToken')];
  if (id === null || key === null)
    throw new HoldfastError(
      'config_invalid',
      'An object store is named, and no key of it: expected AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or files with them.',
    );
  const read = async () => ({
    accessKeyId: await id.value(),
    secretAccessKey: await key.value(),
    sessionToken: token === null ? null : await token.value(),
  });
  return {
    read,
    renewed: async ({ accessKeyId, secretAccessKey, sessionToken }) => {
      const changed = [
        await id.renewed(accessKeyId),
        await key.renewed(secretAccessKey),
        token === null || sessionToken === null ? null : await token.renewed(sessionToken),
      ];
      return changed.every((one) => one === null) ? null : read();
    },
  };
}

const heldSecret = (found: string | Secret | null): HeldSecret | null =>
  found === null ? null : new HeldSecret(typeof found === 'string' ? literalSecret(found) : found);

function ofEnvironment(variable: string): Secret | null {
  const file = environmentVariable(`${variable}_FILE`);
  if (file !== null) return secret.file(file);
  return environmentVariable(variable) === null ? null : secret.env(variable);
}
