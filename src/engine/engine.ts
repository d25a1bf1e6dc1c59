import { HoldfastError } from '../core/errors/errors.js';
import { checkArguments } from './argument.js';
import type { EngineContext } from './engine-context.js';
import { ANYTIME, IMMEDIATE } from './immediate-operations.js';
import { ARGUMENTS, type ShapesOf } from './method-arguments.js';
import { withNamedErrors } from './named-errors.js';
import { OPERATIONS } from './operations.js';

/** The methods of a table, without the context of the engine. */
type Methods<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends (context: EngineContext, ...given: infer Given) => infer Result
    ? (...given: Given) => Result
    : never;
};

/** The engine. The server, the command line and the library call these methods and nothing else. */
export interface Engine extends Methods<typeof OPERATIONS>, Methods<typeof IMMEDIATE>, Methods<typeof ANYTIME> {
  /** Drains and closes: no new segment starts, those that run end at their next step or within `graceMs`. */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

type Method = (...given: unknown[]) => unknown;
type Does = (context: EngineContext, ...given: unknown[]) => unknown;

/** Makes methods of the functions of a table, which refuse arguments of another shape. */
function methods<Table extends { readonly [name: string]: (context: EngineContext, ...given: never[]) => unknown }>(
  table: Table,
  shapes: ShapesOf<Table>,
  methodOf: (does: Does) => Method,
): Methods<Table> {
  const made = Object.entries(table).map(([name, does]) => {
    const checked: Does = (context, ...given) => {
      checkArguments(name, shapes[name as keyof Table], given);
      // Each function takes what its method takes, which no type of a list can say of all of them.
      return (does as Does)(context, ...given);
    };
    return [name, methodOf(checked)];
  });
  return Object.fromEntries(made) as Methods<Table>;
}

/** The methods of a launched engine over its context. */
export function engineOf(context: EngineContext, stop: Engine['stop']): Engine {
  const working = (): EngineContext => {
    if (context.isStopping()) throw new HoldfastError('engine_not_running', 'The engine is stopping.');
    return context;
  };
  return withNamedErrors<Engine>({
    ...methods(
      OPERATIONS,
      ARGUMENTS,
      (does) =>
        async (...given) =>
          does(working(), ...given),
    ),
    ...methods(
      IMMEDIATE,
      ARGUMENTS,
      (does) =>
        (...given) =>
          does(working(), ...given),
    ),
    ...methods(
      ANYTIME,
      ARGUMENTS,
      (does) =>
        (...given) =>
          does(context, ...given),
    ),
    stop,
  });
}
