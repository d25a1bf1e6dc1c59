import { DBOS } from '@dbos-inc/dbos-sdk';
import { HoldfastError } from '../../core/errors/errors.js';
import type { EngineLog } from '../../core/ops/log-record.js';
import { SILENT } from '../engine-config.js';
import { hearStrays } from './hear-strays.js';

/** Where a process says that it has an engine; the same in every copy of this module. */
const ENGINE = Symbol.for('holdfast.engine');

/**
 * Takes the one place for an engine that a process has, since it has one DBOS, hears what nobody in it catches, and gives the way to
 * leave it. Throws `engine_started`
 * and `dbos_launched`, and has touched nothing then.
 */
export function takeProcess(log: EngineLog | undefined): () => void {
  if (Reflect.get(globalThis, ENGINE) !== undefined)
    throw new HoldfastError(
      'engine_started',
      'This process has an engine, which works or starts or stops; a second one was not begun.',
    );
  if (DBOS.isInitialized())
    throw new HoldfastError(
      'dbos_launched',
      'DBOS was launched in this process before the engine; it goes on, and no engine was begun.',
    );
  const place = {};
  Reflect.set(globalThis, ENGINE, place);
  const ignoreStrays = hearStrays(log ?? SILENT, log === undefined);
  return () => {
    ignoreStrays();
    if (Reflect.get(globalThis, ENGINE) === place) Reflect.deleteProperty(globalThis, ENGINE);
  };
}
