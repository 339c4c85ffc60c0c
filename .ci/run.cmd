@echo off
rem Everything a change has to pass, on Windows without make: py tools\bootstrap.py, then .ci\run.cmd
rem These are the commands of `make test`; a test compares the two.
cd /d "%~dp0.."
.venv\Scripts\ruff check || exit /b 1
.venv\Scripts\ruff format --check || exit /b 1
.venv\Scripts\mypy || exit /b 1
.venv\Scripts\python -m tools.rules || exit /b 1
.venv\Scripts\python -m tools.workflows || exit /b 1
.venv\Scripts\jupyter-book build . -W -n --keep-going || exit /b 1
.venv\Scripts\pytest --nbval tests book || exit /b 1
