export declare class LocalModelError extends Error {}

export interface LocalModel {
  /** Base URL of the OpenAI-compatible API, ending in /v1. */
  readonly url: string;
  readonly modelId: string;
  readonly pid: number;
  /** Settles when the server process has ended, for whatever reason. */
  readonly ended: Promise<unknown>;
  stop(): Promise<void>;
}

export declare function startLocalModel(options?: {
  /** 0, the default, takes a free port. */
  port?: number;
  onProgress?: (line: string) => void;
  signal?: AbortSignal;
}): Promise<LocalModel>;
