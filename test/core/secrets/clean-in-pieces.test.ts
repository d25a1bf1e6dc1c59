import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cleanInPieces, redaction, redactorOf } from '../../../src/core/exports/redaction.js';
import { asJson, canonical } from '../../../src/core/json.js';
import { Allowance } from '../../../src/core/limits/allowance.js';
import { inOneGo } from '../../harness/in-one-go.js';

const cleaner = (value: object) =>
  redactorOf(redaction.parse(value), (text) => text.replaceAll('secret', '*'), new Allowance());

it('redacts a value in parts as in one go, also where a pattern or a name meets its members', () => {
  const rules = [
    {},
    { keys: ['steps'] },
    { patterns: [{ pattern: 'st|a' }] },
    { keys: ['b'], patterns: [{ pattern: '[0-9]' }] },
  ];
  const key = fc.constantFrom('steps', 'a', 'b', 'secret', '1');
  const value = fc.letrec((tie) => ({
    leaf: fc.oneof(fc.constantFrom('secret', 'a secret a', 'st', '{"b":"secret"}'), fc.integer(), fc.constant(null)),
    any: fc.oneof({ maxDepth: 3 }, tie('leaf'), fc.array(tie('any'), { maxLength: 3 }), fc.dictionary(key, tie('any'))),
  })).any;
  fc.assert(
    fc.property(fc.constantFrom(...rules), value, (rule, made) => {
      const clean = cleaner(rule);
      const json = asJson(made);
      expect(canonical(inOneGo(cleanInPieces(json, clean)))).toBe(canonical(clean(json)));
    }),
  );
});
