import type { JsonValue } from '../json.js';
import type { PlanNode } from './plan.js';

/** Nodes inside of a node. */
export interface InnerBlock {
  readonly block: { readonly nodes: { readonly [id: string]: PlanNode }; readonly output?: JsonValue };
  readonly at: string;
  /** What stands on the way to its nodes, behind the node that it is in. */
  readonly key: string;
  /** What its templates and expressions read beside the input and nodes. */
  readonly names: readonly string[];
}

/** What a node says about when or over what its blocks run. */
export interface Condition {
  readonly type: 'expression' | 'template';
  readonly value: JsonValue;
  readonly at: string;
  readonly names: readonly string[];
}

const OF_MAP = ['item', 'index'];
const OF_LOOP = ['index', 'last'];

/** The blocks of a node: of a branch one for each case, and then that of `else`. */
export function innerBlocks(node: PlanNode, at: string): readonly InnerBlock[] {
  switch (node.type) {
    case 'parallel':
      return [{ block: node, at, key: '', names: [] }];
    case 'map':
      return [{ block: node, at, key: '', names: OF_MAP }];
    case 'loop':
      return [{ block: node, at, key: '', names: OF_LOOP }];
    case 'branch': {
      const cases = node.cases.map((block, index) => ({
        ...{ block, at: `${at}/cases/${index}`, key: `${index}.`, names: [] },
      }));
      if (node.else === undefined) return cases;
      return [...cases, { block: node.else, at: `${at}/else`, key: `${cases.length}.`, names: [] }];
    }
    default:
      return [];
  }
}

export function conditionsOf(node: PlanNode, at: string): readonly Condition[] {
  switch (node.type) {
    case 'map':
      return [{ type: 'template', value: node.over, at: `${at}/over`, names: [] }];
    case 'loop':
      return [{ type: 'expression', value: node.until, at: `${at}/until`, names: OF_LOOP }];
    case 'branch':
      return node.cases.map(({ when }, index) => ({
        ...{ type: 'expression' as const, value: when, at: `${at}/cases/${index}/when`, names: [] },
      }));
    default:
      return [];
  }
}
