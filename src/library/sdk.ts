/** `holdfast/sdk`: the copy of the Agents SDK that Holdfast works with, also for programs that load packages by `require`. */
export * from '@openai/agents';
