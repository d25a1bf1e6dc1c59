import type { FieldError } from '../../core/errors/errors.js';
import { pointerTo } from '../../core/field-errors.js';
import type { WorkerRole } from '../../core/queue/worker.js';
import type { HoldfastConfig } from './define.js';

/**
 * What is wrong with the providers of a configuration, before anything is made. A provider that knows what is wrong with itself says
 * it by a method `problems`, and which keys are not there by `missing`; who executes no runs needs none.
 */
export function providerProblems(
  providers: HoldfastConfig['providers'] = {},
  role: WorkerRole = 'all',
): readonly FieldError[] {
  return Object.entries(providers).flatMap(([prefix, provider]) => {
    const place = pointerTo(['providers', prefix]);
    const problems: FieldError[] = [];
    if (!/^[^\s/]+$/.test(prefix)) {
      problems.push({ pointer: place, detail: 'expected a prefix that is not empty and has no slash and no space' });
    }
    if (typeof provider?.getModel !== 'function') {
      problems.push({ pointer: place, detail: 'expected a ModelProvider, which has getModel()' });
    }
    const said = [...saidBy(provider, 'problems'), ...(role === 'api' ? [] : saidBy(provider, 'missing'))];
    problems.push(...said.map(({ pointer, detail }) => ({ pointer: `${place}${pointer}`, detail })));
    return problems;
  });
}

function saidBy(provider: unknown, method: 'problems' | 'missing'): readonly FieldError[] {
  return isJudge(provider, method) ? provider[method]() : [];
}

const isJudge = <M extends string>(provider: unknown, method: M): provider is Record<M, () => readonly FieldError[]> =>
  typeof provider === 'object' && provider !== null && typeof Reflect.get(provider, method) === 'function';
