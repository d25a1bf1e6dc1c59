import { describe, expect, it } from 'vitest';
import { evaluateExpression, readExpression } from '../../../src/core/plans/expression.js';

const scope = { input: 'hey', nodes: { a: { x: 5, f: 5.5, list: [1, 2] } }, index: 2, last: null };
const value = (text: string) => evaluateExpression(text, scope);
const problemOf = (text: string) => readExpression(text).problem;

describe('expressions of plans', () => {
  it('compute with what nodes gave', () => {
    expect(value('nodes.a.x * 2 + 1')).toBe(11);
    expect(value('nodes["a"].f > 5.0 && size(nodes.a.list) == 2')).toBe(true);
    expect(value('has(nodes.a.y) ? nodes.a.y : "none"')).toBe('none');
    expect(value('input + "!"')).toBe('hey!');
    expect(value('last == null && index in [1, 2]')).toBe(true);
    expect(value('{"n": nodes.a.x}')).toEqual({ n: 5 });
  });

  it('say which nodes they read', () => {
    expect(readExpression('nodes.a.x > index && nodes["b"] == input')).toEqual({
      ...{ pointers: ['/nodes/a', '/index', '/nodes/b', '/input'], problem: null },
    });
  });

  it('refuse what could take long, and what is not there', () => {
    expect(problemOf('input.matches("(a+)+$")')).toBe('uses matches, which is not taken');
    expect(problemOf('nodes.a.list.all(x, x > 0)')).toBe('uses all, which is not taken');
    expect(problemOf('nodes.a.list.map(x, nodes.a.list.map(y, y))')).toBe('uses map, which is not taken');
    expect(problemOf('nodes == 1')).toBe('reads nodes without the name of one');
    expect(problemOf('process.exit(1)')).toMatch(/^Unknown variable: process/);
    expect(problemOf('1 +')).toMatch(/^Unexpected token: EOF/);
    expect(problemOf(`1${'+1'.repeat(400)}`)).not.toBeNull();
    expect(problemOf('x'.repeat(2001))).toBe('has 2001 characters; at most 2000 are taken');
  });

  it('refuse what is no JSON, and a member that would be lost', () => {
    for (const text of ['1u', '[1u]', '{"a": 1u}', 'b"abc"', '1.0 / 0.0'])
      expect(problemOf(text), text).toBe(`The expression ${text} failed: it gives no JSON value`);
    expect(problemOf('{"__proto__": 1}')).toBe('makes a member called __proto__, which is not taken');
  });

  it('make no value that is larger than the budget', () => {
    const long = { input: 'x'.repeat(1_000_000), nodes: { a: 'y'.repeat(1_000_000) } };
    const size = (text: string) => String(evaluateExpression(text, long)).length;
    expect(size(Array.from({ length: 50 }, () => 'input').join(' + '))).toBe(50_000_000);
    expect(() => size(Array.from({ length: 70 }, () => 'input').join(' + '))).toThrow('take more than');
    expect(() => size(Array.from({ length: 70 }, () => 'nodes.a').join(' + '))).toThrow('take more than');
  });

  it('refuse what fails for every input, and whole numbers that JSON would round', () => {
    expect(readExpression('1 / 0').problem).toBe('The expression 1 / 0 failed: division by zero');
    expect(readExpression('nodes.a.x / 0').problem).toBeNull();
    expect(readExpression('"short".size() == 5').problem).toBeNull();
    expect(() => value('nodes.a.x + 9007199254740991')).toThrow('9007199254740996, which JSON carries only rounded');
    expect(value('string(nodes.a.x + 9007199254740991)')).toBe('9007199254740996');
    expect(value('nodes.a.x + 9007199254740986')).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('fail by name where a value is of another type or not there', () => {
    expect(() => value('input + 1')).toThrow('The expression input + 1 failed: no such overload: dyn<string> + int.');
    expect(() => value('nodes.a.constructor')).toThrow('No such key: constructor');
    expect(() => value('nodes.a.__proto__')).toThrow('No such key: __proto__');
  });
});
