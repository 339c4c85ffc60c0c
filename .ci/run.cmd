@echo off
rem Everything a change has to pass, on Windows without make: py tools\bootstrap.py, then .ci\run.cmd
cd /d "%~dp0.."
set ATTNBOOK_REQUIRE_MODEL=1
.venv\Scripts\python -m tools.check || exit /b 1
.venv\Scripts\python -m tools.model || exit /b 1
.venv\Scripts\pytest -n auto --nbval book tests || exit /b 1
