//! What an elector does, request by request.
