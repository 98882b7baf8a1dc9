import { styleText } from 'node:util'

import { CommandError, OutputClosedError } from './errors.ts'
import { toJson } from './text.ts'

/** Standard output: waits for its reader, and notices when there is none. */
export class Output {
  readonly #stream = process.stdout
  #failure: NodeJS.ErrnoException | undefined

  constructor() {
    this.#stream.on('error', (error) => (this.#failure ??= error))
  }

  /** How many columns there are to fill; no end to them when the output is no terminal. */
  get width(): number {
    return this.#stream.isTTY ? this.#stream.columns || 80 : Number.POSITIVE_INFINITY
  }

  /**
   * Resolves when the text has gone to the operating system.
   * @throws {OutputClosedError} when nobody reads it any more.
   */
  write(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure) return reject(writeError(this.#failure))
      this.#stream.write(text, (error) => (error ? reject(writeError(error)) : resolve()))
    })
  }

  line(text = ''): Promise<void> {
    return this.write(`${text}\n`)
  }

  json(value: unknown): Promise<void> {
    return this.line(toJson(value, 2))
  }

  bold(text: string): string {
    return this.#style('bold', text)
  }

  dim(text: string): string {
    return this.#style('dim', text)
  }

  get hasColour(): boolean {
    return this.#stream.isTTY && !process.env['NO_COLOR'] && this.#stream.hasColors()
  }

  #style(style: 'bold' | 'dim', text: string): string {
    return this.hasColour ? styleText(style, text, { validateStream: false }) : text
  }
}

function writeError(error: NodeJS.ErrnoException): Error {
  if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED') {
    return new OutputClosedError('nobody reads the output', { cause: error })
  }
  return new CommandError(`cannot write the output: ${error.message}`, { cause: error })
}
