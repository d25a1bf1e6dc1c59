import type { Settings } from '../../config.js';
import { registerAgents } from '../../engine/agents/agent-registry.js';
import { assertConfig } from '../../engine/agents/assert-config.js';
import { routersIn } from '../../engine/agents/routers.js';
import { type ToolVersion, toolVersionsOf } from '../../engine/agents/tool-versions.js';
import { serverUrl } from '../connect.js';
import type { Doors } from '../doors.js';
import { findConfig } from '../find-config.js';
import { loadConfig } from '../load-config.js';
import { checkSigningKey } from './check-signing-key.js';
import { type Finding, fail, failed, ok } from './finding.js';
import { assertPortFree } from './free-port.js';

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
  readonly images: readonly string[];
}

/** The configuration file, and the signing key that it may name. */
export async function checkConfig(settings: Settings, doors: Doors): Promise<CheckedConfig> {
  const { configFile, role } = settings;
  const path = findConfig(configFile);
  if (path === null)
    return {
      findings: [
        ok('config', "no holdfast.config.ts here: the demo's agent is served"),
        await checkSigningKey(settings, null),
      ],
      tools: null,
      images: [],
    };
  try {
    const config = await loadConfig(path, await doors.ownModules());
    assertConfig({ ...config, role });
    const agents = registerAgents(config);
    routersIn(config, agents);
    const found = ok('config', `${path} (agents: ${[...agents.keys()].join(', ') || 'none'})`);
    const findings = [found, await checkSigningKey(settings, config.evidence?.signingKey ?? null)];
    const all = [...agents.values()];
    const images = new Set(all.flatMap(({ environment }) => environment?.spec.image ?? []));
    return { findings, tools: all.flatMap(toolVersionsOf), images: [...images] };
  } catch (error) {
    return { findings: [failed('config', error)], tools: null, images: [] };
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
