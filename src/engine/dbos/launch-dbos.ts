import { DBOS, type DBOSConfig } from '@dbos-inc/dbos-sdk';
import { pinDbosIdentity } from '../../config.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { EngineLog } from '../../core/ops/log-record.js';
import { APPLICATION, RECORDING_VERSION } from './recording-version.js';

/** Packages that the SDK asks for in DBOS Cloud alone. */
const CLOUD_PACKAGES = /@dbos-inc\/dbos-enterprise|@opentelemetry\/|winston/;

/** Launches DBOS under the identity of the engine. Throws `config_invalid` where a package is missing that DBOS Cloud needs. */
export async function launchDbos(
  executor: string,
  config: Omit<DBOSConfig, 'name' | 'applicationVersion' | 'executorID' | 'logger'>,
  log: EngineLog,
): Promise<void> {
  const version = String(RECORDING_VERSION);
  pinDbosIdentity({ application: APPLICATION, version, executor });
  const identity = { name: APPLICATION, applicationVersion: version, executorID: executor };
  DBOS.setConfig({ ...config, ...identity, logger: quietLogger(log) });
  try {
    await DBOS.launch();
  } catch (error) {
    const said = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    if (!CLOUD_PACKAGES.test(said)) throw error;
    throw new HoldfastError('config_invalid', `DBOS does not launch here: ${said}`, {
      hint: 'Run `holdfast doctor --cloud`; docs/operate/dbos-cloud.md says what can be done.',
    });
  }
}

const quietLogger = (log: EngineLog) => {
  const of = (entry: unknown) => ({ component: 'dbos', event: 'said', entry: String(entry) });
  return {
    debug: (entry: unknown) => log.debug(of(entry), 'dbos'),
    info: (entry: unknown) => log.debug(of(entry), 'dbos'),
    warn: (entry: unknown) => log.warn(of(entry), 'dbos'),
    error: (entry: unknown) => log.error(of(entry), 'dbos'),
  };
};
