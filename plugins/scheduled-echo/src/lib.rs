//! scheduled-echo.
