import type { FieldError } from '../core/errors.js';
import { pointerTo } from '../core/field-errors.js';
import type { HoldfastConfig } from './define.js';

/**
 * What is wrong with the providers of a configuration, before anything is made. A provider that knows what is wrong with itself says
 * it by a method `problems`.
 */
export function providerProblems(providers: HoldfastConfig['providers'] = {}): readonly FieldError[] {
  return Object.entries(providers).flatMap(([prefix, provider]) => {
    const place = pointerTo(['providers', prefix]);
    const problems: FieldError[] = [];
    if (!/^[^\s/]+$/.test(prefix)) {
      problems.push({ pointer: place, detail: 'expected a prefix that is not empty and has no slash and no space' });
    }
    if (typeof provider?.getModel !== 'function') {
      problems.push({ pointer: place, detail: 'expected a ModelProvider, which has getModel()' });
    }
    if (knowsProblems(provider)) {
      problems.push(...provider.problems().map(({ pointer, detail }) => ({ pointer: `${place}${pointer}`, detail })));
    }
    return problems;
  });
}

interface Judging {
  problems(): readonly FieldError[];
}

const knowsProblems = (provider: unknown): provider is Judging =>
  typeof provider === 'object' && provider !== null && typeof Reflect.get(provider, 'problems') === 'function';
