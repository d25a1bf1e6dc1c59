/** A call as an item of the SDK, which callbacks and bodies of its tools get. */
export const callItem = (callId: string, name: string, text: string) => ({
  ...{ type: 'function_call' as const, callId, name },
  ...{ arguments: text, status: 'completed' as const },
});
