//! A plugin that is replaced again and again while its objects change.
