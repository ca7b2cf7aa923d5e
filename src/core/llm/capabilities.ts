/** What a model, or an agent, may be given besides text, and whether it may think aloud. */
export interface Capabilities {
  readonly vision: boolean;
  readonly audio: boolean;
  readonly video: boolean;
  readonly reasoning: boolean;
}

/** Of a model about which nothing was said. */
export const NO_CAPABILITIES = {
  vision: false,
  audio: false,
  video: false,
  reasoning: false,
} as const satisfies Capabilities;

export type MediaKind = 'image' | 'audio' | 'video';

const NEEDED = { image: 'vision', audio: 'audio', video: 'video' } as const satisfies Record<
  MediaKind,
  keyof Capabilities
>;

/** Both must allow it: the model can, and the agent may (seed 000, 3.2.1). */
export function allowedCapabilities(model: Capabilities, agent: Capabilities): Capabilities {
  return {
    vision: model.vision && agent.vision,
    audio: model.audio && agent.audio,
    video: model.video && agent.video,
    reasoning: model.reasoning && agent.reasoning,
  };
}

/** Kinds of attachments the model does not get to see or hear, each once: people are told. Other files are no media. */
export function leftOut(
  attachments: readonly { readonly kind: string }[],
  allowed: Capabilities,
): readonly MediaKind[] {
  const kinds = new Set(attachments.map(({ kind }) => kind));
  return (['image', 'audio', 'video'] as const).filter((kind) => kinds.has(kind) && !allowed[NEEDED[kind]]);
}
