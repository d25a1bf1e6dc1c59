import { describe, expect, it } from 'vitest';
import { BLOCKS } from '../../scripts/docs/blocks.js';
import { filled, generatedPages } from '../../scripts/docs/generated.js';
import { ERROR_GROUPS, ERRORS } from '../../src/core/errors/error-table.js';
import { pageText } from './pages.js';

describe('the generated parts of the documentation', () => {
  it.each(generatedPages())('%s says what the code says', (page) => {
    const text = pageText(page);
    expect(text, `${page} is not what the code says: run "npm run docs" and commit the page.`).toBe(filled(text));
  });

  it('has a page for each block', () => {
    const pages = generatedPages().map(pageText).join('\n');
    expect(Object.keys(BLOCKS).filter((name) => !pages.includes(`<!-- generated: ${name} -->`))).toEqual([]);
  });

  it('refuses a block that does not exist', () => {
    expect(() => filled('<!-- generated: nothing -->\n<!-- /generated -->')).toThrow('No block "nothing"');
  });

  it('puts each error into one section', () => {
    const codes = ERROR_GROUPS.flatMap(({ rows }) => Object.keys(rows));
    expect(codes.toSorted()).toEqual(Object.keys(ERRORS).toSorted());
  });
});
