/**
 * The fields of the Bot API that the translator reads. `ctx.update` of grammY and Telegraf and the body of a webhook
 * fit as they are; `| undefined` is there because grammY declares absent fields so.
 */
export interface TelegramUpdate {
  readonly update_id: number
  readonly message?: TelegramMessage | undefined
  readonly edited_message?: TelegramMessage | undefined
  readonly channel_post?: TelegramMessage | undefined
  readonly edited_channel_post?: TelegramMessage | undefined
}

export interface TelegramMessage {
  /** Unique in its chat only; 0 for ephemeral messages and those still to be sent. */
  readonly message_id: number
  readonly message_thread_id?: number | undefined
  readonly is_topic_message?: boolean | undefined
  readonly from?: TelegramUser | undefined
  readonly sender_chat?: TelegramChat | undefined
  readonly author_signature?: string | undefined
  readonly chat: TelegramChat
  /** Seconds since the epoch, as `edit_date`. */
  readonly date: number
  readonly edit_date?: number | undefined
  readonly reply_to_message?: { readonly message_id: number } | undefined
  readonly migrate_to_chat_id?: number | undefined
  readonly migrate_from_chat_id?: number | undefined

  readonly text?: string | undefined
  readonly caption?: string | undefined
  readonly photo?: readonly TelegramFile[] | undefined
  readonly animation?: TelegramFile | undefined
  readonly audio?: TelegramFile | undefined
  readonly document?: TelegramFile | undefined
  readonly sticker?: TelegramFile | undefined
  readonly video?: TelegramFile | undefined
  readonly video_note?: TelegramFile | undefined
  readonly voice?: TelegramFile | undefined

  readonly checklist?: unknown
  readonly contact?: unknown
  readonly dice?: unknown
  readonly game?: unknown
  readonly location?: unknown
  readonly paid_media?: unknown
  readonly poll?: unknown
  readonly rich_message?: unknown
  readonly story?: unknown
  readonly venue?: unknown
}

export interface TelegramUser {
  readonly id: number
  readonly is_bot: boolean
  readonly first_name: string
  readonly last_name?: string | undefined
}

export interface TelegramChat {
  readonly id: number
  readonly type: string
  readonly title?: string | undefined
  readonly first_name?: string | undefined
  readonly last_name?: string | undefined
  readonly is_forum?: boolean | undefined
}

export interface TelegramFile {
  readonly file_id: string
  readonly file_name?: string | undefined
  readonly mime_type?: string | undefined
  readonly file_size?: number | undefined
}
