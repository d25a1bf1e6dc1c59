import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Settings } from '../../config.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { registerAgents } from '../../engine/agents/agent-registry.js';
import { assertConfig } from '../../engine/agents/assert-config.js';
import { type ToolVersion, toolVersionsOf } from '../../engine/agents/list-agents.js';
import { routersIn } from '../../engine/agents/routers.js';
import { openLogKeys } from '../../engine/evidence/log-keys.js';
import type { Secret } from '../../models/secrets/secret.js';
import type { CliServices } from '../cli-services.js';
import { serverUrl } from '../connect.js';
import { findConfig, loadConfig } from '../load-config.js';
import type { WantedImages } from './check-engine.js';
import { type Finding, fail, failed, ok, warn } from './finding.js';

const CHECK = 'signing key';

/** Whether the log over all runs is signed here. Reads the key; makes none. */
export async function checkSigningKey(
  { databaseUrl, dataDir, signingKeyFile: keyFile }: Pick<Settings, 'databaseUrl' | 'dataDir' | 'signingKeyFile'>,
  key: Secret | null,
): Promise<Finding> {
  if (keyFile === null && key === null)
    return databaseUrl === null
      ? ok(CHECK, `that of ${dataDir}, which is made at the first start`)
      : warn(
          CHECK,
          'none: no checkpoint is signed, and nothing proves what runs did to someone who does not trust this database',
          'Make one with `holdfast signing-key make <file>`, and set HOLDFAST_SIGNING_KEY_FILE: docs/evidence/keys.md.',
        );
  try {
    const { signing } = await openLogKeys({ keyFile, key, publicKeys: [], madeIn: null });
    return ok(CHECK, `signs as ${signing?.public.name ?? 'no key'}`);
  } catch (error) {
    return failed(CHECK, error);
  }
}

/** Looks whether a port can be listened on, without keeping it. Throws `port_in_use`, and `config_invalid` for a foreign address. */
export async function assertPortFree(host: string, port: number): Promise<void> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    if (code === 'EADDRINUSE') throw new HoldfastError('port_in_use', `Port ${port} of ${host} is in use.`);
    throw new HoldfastError('config_invalid', `${host}, port ${port}, cannot be listened on (${code}).`, {
      cause,
      hint: 'Correct HOLDFAST_HOST and HOLDFAST_PORT, or --host and --port.',
    });
  }
  server.close();
  await once(server, 'close');
}

const NODE_MAJOR = 20;
const NODE_MINOR = 19;
const PROBE_TIMEOUT_MS = 2000;

export function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const enough = major > NODE_MAJOR || (major === NODE_MAJOR && minor >= NODE_MINOR);
  if (enough) return ok('node', process.versions.node);
  return fail('node', `${process.versions.node} is too old`, `Install Node ${NODE_MAJOR}.${NODE_MINOR} or newer.`);
}

interface CheckedConfig {
  readonly findings: readonly Finding[];
  /** What its agents have; null: there is none, or it cannot be read. */
  readonly tools: readonly ToolVersion[] | null;
  /** What its environments are made of. */
  readonly wanted: WantedImages;
}

const NO_IMAGES: WantedImages = { images: [], policy: undefined };

/** The configuration file, and the signing key that it may name. */
export async function checkConfig(settings: Settings, services: CliServices): Promise<CheckedConfig> {
  const { configFile, role } = settings;
  const path = findConfig(configFile);
  if (path === null)
    return {
      findings: [
        warn('config', `${process.cwd()} has none`, 'Write one with `holdfast init`, or set HOLDFAST_CONFIG.'),
        await checkSigningKey(settings, null),
      ],
      tools: null,
      wanted: NO_IMAGES,
    };
  try {
    const config = await loadConfig(path, await services.ownModules());
    assertConfig({ ...config, role });
    const agents = registerAgents(config);
    routersIn(config, agents);
    const found = ok('config', `${path} (agents: ${[...agents.keys()].join(', ') || 'none'})`);
    const findings = [found, await checkSigningKey(settings, config.evidence?.signingKey ?? null)];
    const all = [...agents.values()];
    const images = new Set(all.flatMap(({ environment }) => environment?.spec.image ?? []));
    const wanted = { images: [...images], policy: config.imagePolicy };
    return { findings, tools: all.flatMap(toolVersionsOf), wanted };
  } catch (error) {
    return { findings: [failed('config', error)], tools: null, wanted: NO_IMAGES };
  }
}

export async function checkPort(settings: Settings): Promise<Finding> {
  const { host, port } = settings;
  try {
    await assertPortFree(host, port);
    return ok('port', `${port} of ${host} is free`);
  } catch (error) {
    const url = serverUrl({ ...settings, serverUrl: null });
    return (await answers(url)) ? ok('port', `a Holdfast server answers at ${url}`) : failed('port', error);
  }
}

/** `/livez` needs no token. */
async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/livez`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    return response.ok && /^\{"status":"pass"\}$/.test(await response.text());
  } catch {
    return false;
  }
}
