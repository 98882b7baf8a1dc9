/** Says on standard error how far a long command is: in one changing line on a terminal. */
export class Progress {
  readonly #name: string
  readonly #isTerminal = process.stderr.isTTY

  constructor(name: string) {
    this.#name = name
  }

  /** A new stage of the work. */
  stage(text: string): void {
    process.stderr.write(this.#isTerminal ? `\r\x1b[K${text}` : `${this.#name}: ${text}\n`)
  }

  /** How far the stage is; too often to be kept in a log. */
  amount(text: string): void {
    if (this.#isTerminal) this.stage(text)
  }

  end(): void {
    if (this.#isTerminal) process.stderr.write('\r\x1b[K')
  }
}
