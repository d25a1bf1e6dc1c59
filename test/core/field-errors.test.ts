import { expect, it } from 'vitest';
import { invalidConfig, invalidRequest } from '../../src/core/field-errors.js';

it('what is said of fields ends once, also where it was a sentence', () => {
  const fields = [{ pointer: '/a', detail: 'It is none.' }];
  expect(invalidConfig('The engine', fields).message).toBe('The engine cannot work like this: a: It is none.');
  expect(invalidRequest(fields).message).toBe('/a: It is none.');
  expect(invalidRequest([...fields, { pointer: '', detail: 'is empty' }]).message).toBe(
    '/a: It is none; The request: is empty.',
  );
});
